--- The effects of a member's end on its graph. Its end is passed on along its out-edges: each is met or
--- not, and a dependent whose join is decided starts or is skipped. A decided join may release
--- upstreams: failures that it did not need no longer count, and losers are cancelled.
--- @requires lib/core/keys lib/core/record lib/execution/finish lib/graph/members lib/graph/work
--- @requires lib/graph/starts
local resolve = {}

-- A loser with more dependents than this is kept: examining them all would take too long.
local MOST_DEPENDENTS = 100

--- The failure of a member does not count: a dependent ran anyway.
local function spare(list, id, member)
  member.spared = '1'
  server.call('HSET', keys.record(list.tag, id), 'spared', '1')
  if members.is_bad(member.state) then
    server.call('HINCRBY', keys.graph(list.tag, list.graph), 'bad', -1)
  end
  -- It never ran, so the failures that kept it from running are spared, too.
  if not members.released(member) then work.add(list, 'walk', id) end
end

--- Spare an upstream that did not succeed, if the member at the end of the edge runs anyway.
local function spare_if(list, id, upstream, on, member)
  if upstream.spared or upstream.state == 'completed' then return end
  local content
  if members.released(member) then
    content = member.lax or (on ~= 's' and members.is_bad(upstream.state))
  else
    content = member.spared and not members.undecided(member)
  end
  if content then spare(list, id, upstream) end
end

--- Whether other members wait for members that a join does not need.
local function has_lost(list)
  if list.lost == nil then list.lost = server.call('HGET', keys.graph(list.tag, list.graph), 'lost') end
  return list.lost
end

local function release(list, id, rec, changes)
  members.begin(list.tag, id, rec, list.now, changes)
  if tonumber(rec.ins or 0) > 1 and (rec.lax or rec.hears or has_lost(list)) then work.add(list, 'walk', id) end
end

local function skip(list, id, rec, changes, because)
  rec.work = list
  local entry = { event = 'skipped', reason = because }
  finish.now(list.tag, id, rec, 'skipped', list.now, changes, entry)
end

--- Start or skip a member if its counts, of which `changes` has the new ones, decide its join; write
--- them in any case.
function resolve.decide(list, id, rec, changes, because)
  for i = 1, #changes, 2 do rec[changes[i]] = changes[i + 1] end
  if members.released(rec) then
    release(list, id, rec, changes)
  elseif tonumber(rec.unmet or 0) > tonumber(rec.ins or 0) - tonumber(rec.need or 0) then
    skip(list, id, rec, changes, because)
  elseif #changes > 0 then
    record.write(list.tag, id, rec, changes)
  end
end

--- Pass on the end of a member, in `upstream.state`, along one edge.
local function tell_edge(list, upstream_id, upstream, on, id)
  local rec = record.read(list.tag, id)
  if not rec then return end
  -- What it was is compared below: it may end here.
  local member = { state = rec.state, lax = rec.lax, spared = rec.spared, need = rec.need, met = rec.met }
  if members.undecided(rec) then
    local field = members.meets(on, upstream.state) and 'met' or 'unmet'
    local changes = { field, tonumber(rec[field] or 0) + 1 }
    local key = members.key(list.graph, upstream_id)
    resolve.decide(list, id, rec, changes, 'upstream ' .. key .. ' is ' .. upstream.state)
    member.met = rec.met
  end
  spare_if(list, upstream_id, upstream, on, member)
end

--- Whether an item was parked before its graph was cancelled: the members it concerns are being ended,
--- or must be left alone.
local function is_muted(list, item)
  return item.parked and server.call('HGET', keys.graph(list.tag, list.graph), 'mute')
end

--- Pass on the end of a member along its out-edges.
function work.handlers.tell(list, item)
  local upstream = item.rec or members.look(list.tag, item.id)
  -- It has been reopened since, and will end again.
  if item.parked and upstream.told ~= item.offset then return nil end
  local edges = members.outs(list.tag, list.graph, members.key(list.graph, item.id))
  if is_muted(list, item) then edges = {} end
  local batch = upstream.state == 'completed' and starts.new(list.tag)
  for i = 2 * item.offset + 1, #edges, 2 do
    if list.left <= 0 then
      if batch then starts.write(batch) end
      return (i - 1) / 2
    end
    list.left = list.left - 1
    local id = members.id(list.graph, edges[i])
    if not (batch and not has_lost(list) and starts.meet(batch, id)) then
      if batch then starts.write(batch) end
      tell_edge(list, item.id, upstream, edges[i + 1], id)
    end
  end
  if batch then starts.write(batch) end
  if item.parked then server.call('HDEL', keys.record(list.tag, item.id), 'told') end
  return nil
end

--- Whether no member waits for a member any more.
local function is_unwanted(list, id)
  local edges = members.outs(list.tag, list.graph, members.key(list.graph, id))
  if #edges > 2 * MOST_DEPENDENTS then return false end
  for i = 1, #edges, 2 do
    local dependent = members.id(list.graph, edges[i])
    local state = server.call('HGET', keys.record(list.tag, dependent), 'state')
    if members.undecided({ state = state }) then return false end
  end
  return true
end

--- Cancel a member that a join does not need, unless others wait for it; then the last of them to be
--- decided cancels it.
local function drop_loser(list, id, winner)
  if not is_unwanted(list, id) then
    list.lost = '1'
    server.call('HSET', keys.record(list.tag, id), 'lost', '1')
    server.call('HSET', keys.graph(list.tag, list.graph), 'lost', '1')
    return
  end
  local rec = record.read(list.tag, id)
  rec.work = list
  finish.now(list.tag, id, rec, 'cancelled', list.now, { 'spared', '1', 'loser', '1' }, {
    event = 'cancelled',
    attempt = record.open_attempt(rec),
    reason = 'member ' .. members.key(list.graph, winner) .. ' needs it no more',
  })
end

--- A member's join is decided, or the member itself is released: handle its upstreams.
function work.handlers.walk(list, item)
  if is_muted(list, item) then return nil end
  local rec = record.read(list.tag, item.id)
  local lets_go = rec.losers or (rec.loser and not members.released(rec))
  local edges = members.ins(list.tag, list.graph, members.key(list.graph, item.id))
  for i = 3 * item.offset + 1, #edges, 3 do
    if list.left <= 0 then return (i - 1) / 3 end
    list.left = list.left - 1
    local id = members.id(list.graph, edges[i])
    local upstream = members.look(list.tag, id)
    if record.is_terminal(upstream.state) then
      spare_if(list, id, upstream, edges[i + 1], rec)
    elseif lets_go or upstream.lost then
      drop_loser(list, id, item.id)
    end
  end
  return nil
end

--- A member has ended. Called by lib/execution/finish.lua, whichever way it ended; `rec.work` is the list of a
--- call that is at it already.
function finish.resolve(tag, id, rec, now)
  local graph = keys.graph(tag, rec.graph)
  local list = rec.work or work.new(tag, rec.graph, now, work.AT_ONCE)
  list.open = server.call('HINCRBY', graph, 'open', -1)
  if members.is_bad(rec.state) and not rec.spared then server.call('HINCRBY', graph, 'bad', 1) end
  local mute, lost, reopening = unpack(server.call('HMGET', graph, 'mute', 'lost', 'reopening'))
  list.lost = list.lost or lost
  -- Its end is passed on when all its dependents wait again.
  if reopening then list.left = 0 end
  -- No member waits for a loser; but it may have waited for others, which are not needed either.
  if not mute and not rec.loser then work.add(list, 'tell', id, rec) end
  local in_vain = not members.released(rec) and (rec.losers or rec.loser or list.lost)
  if not mute and in_vain then work.add(list, 'walk', id) end
  if not rec.work then work.run(list) end
end
