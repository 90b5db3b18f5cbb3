--- End executions with their results. Each is answered on its own. A call that the same holder repeats
--- gets the same answer.
--- @key tag the partition
--- @arg items per item four values: id, fence, result, content_type, which is empty for JSON
--- @ok per item: ok, or a refusal
--- @no execution_not_found | not_active | stale_lease | lease_revoked
--- @event completed
--- @flags allow-oom @owned items
--- @requires lib/core/clock lib/core/record lib/core/ownership lib/execution/lease
--- @requires lib/execution/finish lib/execution/plain_ends

local OK = { 'ok' }

--- End an execution that is not plain, or refuse to.
local function complete(tag, id, fence, result, content_type, now)
  local rec, refusal, ended = lease.check_ending(tag, id, fence, now, 'completed')
  if not rec then return ended and OK or refusal end
  local changes = {}
  record.put_result(tag, id, result, content_type, changes)
  finish.now(tag, id, rec, 'completed', now, changes)
  return OK
end

local function run(tag, args, tenant)
  local now = clock.now(tag)
  local plain, answers = plain_ends.open(now), { 'ok' }
  for i = 1, #args, 4 do
    local id, fence, result, content_type = args[i], args[i + 1], args[i + 2], args[i + 3]
    local answer = tenant and ownership.execution(tag, id, tenant)
    if not answer and plain_ends.complete(tag, id, fence, result, content_type, plain) then answer = OK end
    answers[#answers + 1] = answer or complete(tag, id, fence, result, content_type, now)
  end
  plain_ends.close(tag, plain)
  return answers
end
