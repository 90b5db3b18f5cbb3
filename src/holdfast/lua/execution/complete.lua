--- End an execution with its result. A call that the same holder repeats gets the same answer.
--- @key tag the partition
--- @arg id @arg fence @arg result @arg content_type empty for JSON
--- @ok completed
--- @no execution_not_found | not_active | stale_lease | lease_revoked
--- @event completed
--- @flags allow-oom @owned execution
--- @requires lib/core/keys lib/core/clock lib/core/record lib/execution/lease lib/execution/finish

local function run(tag, args)
  local id, fence, result, content_type = unpack(args)
  local now = clock.now(tag)
  local rec, refusal, ended = lease.check_ending(tag, id, fence, now, 'completed')
  if ended then return { 'ok', 'completed' } end
  if not rec then return refusal end

  local changes = {}
  record.put_payload(keys.result(tag, id), 'result', result, changes)
  if content_type ~= '' then
    changes[#changes + 1] = 'content_type'
    changes[#changes + 1] = content_type
  end
  finish.now(tag, id, rec, 'completed', now, changes)
  return { 'ok', 'completed' }
end
