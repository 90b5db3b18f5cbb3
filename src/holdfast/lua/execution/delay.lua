--- Return the lease and continue the same attempt later.
--- @key tag the partition
--- @arg id @arg fence @arg delay_ms
--- @ok STATE RUN_AT
--- @no execution_not_found | not_active | stale_lease | lease_revoked
--- @event delayed
--- @flags allow-oom @owned execution
--- @requires lib/core/clock lib/execution/lease lib/core/log lib/execution/requeue

local function run(tag, args)
  local id, fence, delay_ms = unpack(args)
  local now = clock.now(tag)
  local rec, refusal, ended = lease.check_ending(tag, id, fence, now, 'delayed')
  -- One with a hold has waited for a signal.
  if ended and not ended.hold then return { 'ok', ended.state, ended.run_at } end
  if not rec then return refusal end

  local run_at = now + tonumber(delay_ms)
  local state = run_at > now and 'delayed' or 'waiting'
  log.append(tag, id, rec, {
    at = now,
    event = 'delayed',
    attempt = rec.attempts - 1,
    fence = fence,
    run_at = run_at,
    state = state,
  })
  requeue.later(tag, id, rec, now, run_at, 'pause', requeue.open(rec, now, {}))
  return { 'ok', state, run_at }
end
