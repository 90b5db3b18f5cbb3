--- What the end of an execution does to those it is bound to: children of an ended parent are cancelled,
--- and a parent fails with a child that it cannot do without. Bonds are described in
--- lib/execution/children.lua. A call cancels the first children at once, with what is bound to them;
--- the timer `o:PARENT` cancels the rest.
--- @requires lib/core/keys lib/core/record lib/core/timers lib/execution/children lib/execution/finish
--- @requires lib/graph/graphs lib/graph/members lib/graph/sweeps
local bonds = {}

local AT_ONCE, BY_TIMER = 100, 400

local function cancel_graph(list, id, reason)
  children.release(list.tag, id)
  local graph = graphs.read(list.tag, id)
  -- A cancel that leaves members running does not keep them from ending with their parent.
  if not graph or graph.ended or graph.mute == 'all' then return end
  list.left = sweeps.cancel(list.tag, id, graph, { policy = 'cancel_all', reason = reason }, list.now, list.left)
end

--- Cancel a child, or a graph, of a parent that has ended.
local function cancel(list, id, parent)
  list.left = list.left - 1
  local reason = 'its parent ' .. parent .. ' has ended'
  if id:find('%.g%d+$') then return cancel_graph(list, id, reason) end
  local rec = record.read(list.tag, id)
  if not rec or record.is_terminal(rec.state) then return children.release(list.tag, id) end
  rec.ending = list
  finish.now(list.tag, id, rec, 'cancelled', list.now, {}, {
    event = 'cancelled',
    attempt = record.open_attempt(rec),
    reason = reason,
  })
end

--- Cancel what is bound to the parents of a list, as far as its allowance (`left`) goes. What a parent that was
--- replayed meanwhile has submitted since comes after the rest, and stays.
local function run(list)
  local first = 1
  while list.left > 0 and first <= #list.parents do
    local parent = list.parents[first]
    local id = server.call('ZRANGE', keys.bonds(list.tag, parent), 0, 0)[1]
    if id and not children.running_for(list.tag, id) then
      cancel(list, id, parent)
    else
      first = first + 1
    end
  end
  for i = first, #list.parents do timers.set(list.tag, 'o:' .. list.parents[i], list.now, list.now) end
end

--- A parent has ended. Where a call ends several executions, the timer does all the work.
function finish.release(tag, id, rec, now)
  if rec.ending then
    rec.ending.parents[#rec.ending.parents + 1] = id
  else
    run({ tag = tag, now = now, parents = { id }, left = (rec.work or rec.timed) and 0 or AT_ONCE })
  end
end

--- The timer of an ended parent. Returns the amount of work done.
function bonds.fire(tag, id, now)
  server.call('ZREM', keys.timers(tag), 'o:' .. id)
  local list = { tag = tag, now = now, parents = { id }, left = BY_TIMER }
  run(list)
  return math.max(1, BY_TIMER - list.left)
end

local CHILD_FAILED = '{"type":"child_failed","message":"child %s ended as %s"}'

--- A child or a graph of a task has ended in `state`.
local function part(tag, id, bond, state, now)
  local parent = children.release(tag, id)
  if not parent or bond ~= 'fail_parent' or not members.is_bad(state) then return end
  if not children.running_for(tag, id) then return end
  local rec = record.read(tag, parent)
  rec.timed = true
  finish.now(tag, parent, rec, 'failed', now, {}, {
    event = 'failed',
    attempt = record.open_attempt(rec),
    error = CHILD_FAILED:format(id, state),
  })
end

function finish.part(tag, id, rec, now) part(tag, id, rec.bond, rec.state, now) end

function graphs.part(tag, id, graph, now) part(tag, id, graph.bond, graph.state, now) end
