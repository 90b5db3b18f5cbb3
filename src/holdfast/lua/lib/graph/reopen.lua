--- The replay of a graph: failed members run again, members skipped because of them wait again, and
--- successful ones stay. No member starts before all are reopened, so no end can come in between.
---   scan    finds the failures that count                  spread  adds what depends on them
---   reopen  makes each wait, with new counts               launch  starts those that can
--- `graph_again` lists the members in question, `graph_reopened` is the set of them.
--- @requires lib/core/keys lib/core/record lib/core/index lib/core/timers lib/core/log
--- @requires lib/execution/requeue lib/graph/members lib/graph/work lib/graph/resolve
local reopen = {}

--- List a member, unless it was added after the replay began.
local function mark(list, id)
  local before = server.call('HGET', keys.graph(list.tag, list.graph), 'reopening')
  local rank = server.call('ZRANK', keys.graph_members(list.tag, list.graph), id)
  if before and rank >= tonumber(before) then return end
  if server.call('SADD', keys.graph_reopened(list.tag, list.graph), id) == 1 then
    server.call('RPUSH', keys.graph_again(list.tag, list.graph), id)
  end
end

--- Visit a list from an offset, within the allowance.
local function go_through(list, item, ids, total, visit)
  for _, id in ipairs(ids) do visit(id) end
  list.left = list.left - #ids
  local reached = item.offset + #ids
  return reached < total() and reached or nil
end

local function through_again(list, item, visit)
  local key = keys.graph_again(list.tag, list.graph)
  local ids = server.call('LRANGE', key, item.offset, item.offset + list.left - 1)
  return go_through(list, item, ids, function() return server.call('LLEN', key) end, visit)
end

local function turn_into(item, verb)
  item.verb = verb
  return 0
end

function work.handlers.scan(list, item)
  local key = keys.graph_members(list.tag, list.graph)
  local ids = server.call('ZRANGE', key, item.offset, item.offset + list.left - 1)
  local rest = go_through(list, item, ids, function() return server.call('ZCARD', key) end, function(id)
    local member = members.look(list.tag, id)
    if members.is_bad(member.state) and not member.spared then mark(list, id) end
  end)
  return rest or turn_into(item, 'spread')
end

--- Members that never ran because of a member run again, with the others that kept them from running.
local function spread(list, id)
  local key = members.key(list.graph, id)
  local outs = members.outs(list.tag, list.graph, key)
  for i = 1, #outs, 2 do
    local dependent = members.id(list.graph, outs[i])
    local member = members.look(list.tag, dependent)
    if record.is_terminal(member.state) and not members.released(member) then mark(list, dependent) end
  end
  if members.released(members.look(list.tag, id)) then return end
  local ins = members.ins(list.tag, list.graph, key)
  for i = 1, #ins, 3 do
    local upstream = members.id(list.graph, ins[i])
    local state = members.look(list.tag, upstream).state
    if state ~= 'completed' and not members.meets(ins[i + 1], state) then mark(list, upstream) end
  end
end

function work.handlers.spread(list, item)
  local rest = through_again(list, item, function(id) spread(list, id) end)
  return rest or turn_into(item, 'reopen')
end

--- How many edges of a member are met and not, where its upstreams do not run again.
local function counts(list, id)
  local met, unmet = 0, 0
  local ins = members.ins(list.tag, list.graph, members.key(list.graph, id))
  for i = 1, #ins, 3 do
    local upstream = members.id(list.graph, ins[i])
    if server.call('SISMEMBER', keys.graph_reopened(list.tag, list.graph), upstream) == 0 then
      local met_edge = members.meets(ins[i + 1], members.look(list.tag, upstream).state)
      met, unmet = met + (met_edge and 1 or 0), unmet + (met_edge and 0 or 1)
    end
  end
  return met, unmet
end

local function reset(list, id)
  local tag, graph = list.tag, keys.graph(list.tag, list.graph)
  local rec = record.read(tag, id)
  local before = rec.state
  server.call('HINCRBY', graph, 'open', 1)
  if members.is_bad(before) and not rec.spared then server.call('HINCRBY', graph, 'bad', -1) end
  local changes = requeue.restart(tag, id, rec, list.now)
  server.call('UNLINK', keys.steps(tag, id))
  if rec.ins then
    local met, unmet = counts(list, id)
    for _, value in ipairs({ 'met', met, 'unmet', unmet }) do changes[#changes + 1] = value end
  end
  log.append(tag, id, rec, { at = list.now, event = 'replayed', reason = 'its graph was replayed' })
  changes[#changes + 1] = 'state'
  changes[#changes + 1] = 'waiting_children'
  record.write(tag, id, rec, changes)
  record.clear(tag, id, rec, { 'spared', 'loser', 'lost', 'told' })
  index.move(tag, id, rec, before)
  timers.arm(tag, id, rec, list.now)
end

function work.handlers.reopen(list, item)
  local rest = through_again(list, item, function(id) reset(list, id) end)
  if rest then return rest end
  server.call('HDEL', keys.graph(list.tag, list.graph), 'reopening')
  return turn_into(item, 'launch')
end

function work.handlers.launch(list, item)
  local rest = through_again(list, item, function(id)
    local rec = record.read(list.tag, id)
    if rec and members.undecided(rec) then
      resolve.decide(list, id, rec, {}, 'an upstream that does not run again prevents it from running')
    end
  end)
  if not rest then
    server.call(
      'UNLINK',
      keys.graph_again(list.tag, list.graph),
      keys.graph_reopened(list.tag, list.graph)
    )
  end
  return rest
end

--- Start the replay of a graph that has ended.
function reopen.begin(tag, id, now)
  work.sweep(work.new(tag, id, now, work.AT_ONCE), 'scan')
end
