--- Admission to a quota that is open during one call. What is taken is written by `quota.close`.
--- @requires lib/core/keys lib/limit/quota lib/limit/waiters
local admitting = {}

--- Look up the epochs under which executions hold a slot, before `admits` is asked about them.
function admitting.look_up(tag, q, executions)
  q.asking, q.executions = #executions, executions
  q.epochs = server.call('HMGET', keys.holders(tag, q.name), unpack(executions))
  for i = 1, q.asking do q.known = q.known or q.epochs[i] end
end

--- The epoch under which an execution that was looked up holds a slot.
local function holder_of(q, execution)
  if not q.holders then
    q.holders = {}
    for i, one in ipairs(q.executions) do q.holders[one] = q.epochs[i] end
  end
  return q.holders[execution]
end

--- Whether everyone who asks may start: none holds a slot, none waits, and there is room for all. Then
--- nothing is decided one by one.
function admitting.admits_all(q)
  return not q.known and q.waiting == 0 and q.promised == 0 and quota.room(q) >= q.asking
end

--- Whether an execution may start now; nil if it has started under a later epoch: then the grant
--- that asks is over.
function admitting.admits(tag, q, execution, epoch, now)
  q.now = now
  q.holder = holder_of(q, execution)
  if q.holder == epoch then return true end
  if q.holder and tonumber(q.holder) > tonumber(epoch) then return nil end
  -- It was refused before; a claim that asks again gets the same answer.
  q.refused = q.waiting + q.promised > 0 and server.call('HGET', keys.waiting(tag, q.name), execution) == epoch
  if q.refused then return false end
  if q.waiting > 0 then quota.promote(tag, q, now) end
  q.promise = q.promised > 0 and server.call('ZSCORE', keys.promises(tag, q.name), execution)
  -- It may hold a slot under an earlier epoch, of which the release is on its way.
  return (q.promise or q.waiting == 0 and quota.room(q, q.holder and 1) > 0) and true or false
end

--- Count an execution as started.
function admitting.enter(q, execution, epoch)
  local held, size = q.held, q.size
  held[size + 1], held[size + 2] = execution, epoch
  q.size = size + 2
  if not q.most then return end
  local starts = q.starts
  starts[size + 1], starts[size + 2] = q.at, execution .. ':' .. epoch
  q.started = q.started + 1
end

--- Let an execution start that `admits` has just answered for. Written by `close`.
function admitting.take(tag, q, execution, epoch)
  if q.holder == epoch then return end
  if not q.holder then q.running = q.running + 1 end
  admitting.enter(q, execution, epoch)
  if q.promise then
    q.promised = q.promised - quota.withdraw(tag, q.name, execution)
  elseif q.waiting > 0 then
    waiters.drop(tag, q.name, execution, epoch)
    q.waiting = waiters.count(tag, q.name)
  end
end

--- Make an execution wait; returns when there may be room, if that is known.
function admitting.queue(tag, q, execution, epoch)
  if q.refused then return quota.retry_at(tag, q) end
  if q.waiting == 0 then server.call('SADD', keys.quota_queues(tag, quota.id(q.name)), q.name) end
  waiters.add(tag, q.name, execution, epoch)
  q.waiting = waiters.count(tag, q.name)
  return quota.retry_at(tag, q)
end

--- Give up the room that was promised to an execution which another quota holds back.
function admitting.renounce(tag, q, execution, now)
  if q.promised == 0 then return end
  q.promised = q.promised - quota.withdraw(tag, q.name, execution)
  if q.waiting > 0 then quota.promote(tag, q, now) end
end
