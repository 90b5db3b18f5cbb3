--- Sweeps over all members of a graph: start them, end them, forget them.
--- @requires lib/core/keys lib/core/record lib/core/index lib/execution/finish lib/core/timers
--- @requires lib/graph/members lib/graph/graphs lib/graph/work lib/admin/archive
local sweeps = {}

local function go_over(list, item, visit)
  local key = keys.graph_members(list.tag, list.graph)
  local ids = server.call('ZRANGE', key, item.offset, item.offset + list.left - 1)
  for _, id in ipairs(ids) do
    local raw = server.call('HGET', keys.record(list.tag, id), 'state')
    visit(id, record.read(list.tag, id), raw)
  end
  local reached = item.offset + #ids
  list.left = list.left - #ids
  return server.call('ZCARD', key) > reached and reached or nil
end

--- Start the members of a graph that was staged.
function work.handlers.start(list, item)
  local tag, now = list.tag, list.now
  return go_over(list, item, function(id, rec, raw)
    if raw ~= 'staged' then return end
    if not rec.ins then return members.begin(tag, id, rec, now, {}) end
    local changes = { 'state', 'waiting_children' }
    if rec.deadline_span then
      changes[3], changes[4] = 'deadline', now + tonumber(rec.deadline_span)
    end
    record.write(tag, id, rec, changes)
    index.enter(tag, id, rec)
    if rec.deadline then timers.arm(tag, id, rec, now) end
  end)
end

--- End the members that have not ended, or those of them that have not started.
function work.handlers.cancel(list, item)
  local graph = graphs.read(list.tag, list.graph)
  local pending = graph.mute == 'pending'
  return go_over(list, item, function(id, rec)
    if record.is_terminal(rec.state) or (pending and members.begun(rec)) then return end
    rec.work = list
    finish.now(list.tag, id, rec, 'cancelled', list.now, {}, {
      event = 'cancelled',
      attempt = record.open_attempt(rec),
      reason = graph.reason,
    })
    server.call('HINCRBY', keys.graph(list.tag, list.graph), 'cancelled', 1)
  end)
end

--- The graph's deadline has passed: its open members expire with it.
function work.handlers.expire(list, item)
  return go_over(list, item, function(id, rec)
    if record.is_terminal(rec.state) then return end
    rec.work = list
    finish.now(list.tag, id, rec, 'expired', list.now, {}, {
      event = 'expired',
      attempt = record.open_attempt(rec),
      reason = 'the deadline of the graph has passed',
    })
  end)
end

local MUTE = { cancel_all = 'all', cancel_pending = 'pending' }

--- Cancel a graph by the policy of `how`, its reason and, if there is one, its request. This call ends as many
--- members as its allowance permits, and the timer the others. Returns what is left of the allowance.
function sweeps.cancel(tag, id, graph, how, now, left)
  local policy, reason = how.policy, how.reason
  graphs.note(tag, id, { at = now, event = 'cancelled', request = how.request, policy = policy, reason = reason })
  local cancelled = graph.cancelled or 0
  graphs.write(
    tag,
    id,
    graph,
    { 'state', 'cancelled', 'cancel', policy, 'reason', reason, 'cancelled', cancelled }
  )
  if not MUTE[policy] then return left end
  graphs.write(tag, id, graph, { 'mute', graph.mute == 'all' and 'all' or MUTE[policy] })
  local list = work.new(tag, id, now, left)
  work.sweep(list, 'cancel')
  return list.left
end

--- Remove members; returns whether all are gone.
function sweeps.forget(tag, id, most)
  local key = keys.graph_members(tag, id)
  local ids = server.call('ZRANGE', key, 0, most - 1)
  for _, member in ipairs(ids) do
    local flat = server.call('HGETALL', keys.record(tag, member))
    local rec = {}
    for i = 1, #flat, 2 do rec[flat[i]] = flat[i + 1] end
    local held = record.is_terminal(rec.state) and archive.hold(tag, member, rec)
    if rec.tenant and not held then finish.forget(tag, member, rec) end
  end
  if #ids > 0 then server.call('ZREM', key, unpack(ids)) end
  return #ids < most
end
