--- End executions with their results, and with the last frames of their streams. Each is answered on its
--- own. A call that the same holder repeats gets the same answer.
--- @key tag the partition
--- @arg items id, fence, result, content_type (empty for JSON), count, frames: five values each
--- @ok per item: ok, or a refusal
--- @no execution_not_found | not_active | stale_lease | lease_revoked
--- @event completed
--- @flags allow-oom @owned items
--- @requires lib/core/clock lib/core/record lib/core/ownership lib/execution/lease
--- @requires lib/execution/finish lib/execution/plain_ends lib/stream/carried

local OK = { 'ok' }

--- End an execution that is not plain, or refuse to.
local function complete(tag, id, fence, result, content_type, last, call)
  local rec, refusal, ended = lease.check_ending(tag, id, fence, call.now, 'completed')
  if not rec then return ended and OK or refusal end
  if last then carried.conclude(tag, id, rec, last, call.now, call.bounds) end
  local changes = {}
  record.put_result(tag, id, result, content_type, changes)
  finish.now(tag, id, rec, 'completed', call.now, changes)
  return OK
end

local function run(tag, args, tenant)
  local call, answers, i = plain_ends.open(clock.now(tag)), { 'ok' }, 1
  while i <= #args do
    local id, fence, result, content_type, count = unpack(args, i, i + 4)
    i = i + 5
    local last
    if count ~= '0' then
      last = carried.frames(args, i, count)
      i = i + 5 * count
    end
    local answer = tenant and ownership.execution(tag, id, tenant)
    if not answer and plain_ends.complete(tag, id, fence, result, content_type, last, call) then answer = OK end
    answers[#answers + 1] = answer or complete(tag, id, fence, result, content_type, last, call)
  end
  plain_ends.close(tag, call)
  return answers
end
