--- End an attempt with an error: the execution is retried by its policy, or fails. A call that the
--- same holder repeats gets the same answer.
--- @key tag the partition
--- @arg id @arg fence @arg error_type @arg retryable 1 or 0
--- @arg retry_after_ms replaces the backoff, or empty @arg error JSON
--- @arg cause what failures are grouped by, see lib/core/causes; absent: the type
--- @ok STATE RETRY_AT
--- @no execution_not_found | not_active | stale_lease | lease_revoked
--- @event failed
--- @flags allow-oom @owned execution
--- @requires lib/core/clock lib/execution/lease lib/execution/retry

local function gives_up(rec, error_type)
  for name in (rec.give_up or ''):gmatch('[^,]+') do
    if name == error_type then return true end
  end
  return false
end

local function run(tag, args)
  local id, fence, error_type, retryable, retry_after_ms, error, cause = unpack(args)
  local now = clock.now(tag)
  local rec, refusal, ended = lease.check_ending(tag, id, fence, now, 'failed')
  if ended then return { 'ok', ended.state, ended.retry_at or '' } end
  if not rec then return refusal end

  local final = retryable == '0' or gives_up(rec, error_type)
  local entry = { event = 'failed', attempt = rec.attempts - 1, fence = fence, error = error }
  entry.cause = cause or error_type .. '\n\n'
  retry.settle(tag, id, rec, now, entry, final, tonumber(retry_after_ms))
  return { 'ok', entry.state, entry.retry_at or '' }
end
