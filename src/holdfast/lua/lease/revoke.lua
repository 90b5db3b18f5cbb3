--- Revoke the lease of a holder; the execution is ready again for a new attempt.
--- @key tag the partition
--- @arg id @arg request id of this call @arg reason
--- @ok waiting
--- @no execution_not_found | not_active
--- @event lease_revoked
--- @flags allow-oom @owned execution
--- @requires lib/core/clock lib/core/record lib/core/reply lib/core/log lib/execution/requeue

local function run(tag, args)
  local id, request, reason = unpack(args)
  local now = clock.now(tag)
  local rec = record.read(tag, id)
  if not rec then return reply.no('execution_not_found', 'id', id) end
  if log.find(tag, id, rec, { event = 'lease_revoked', request = request }) then return { 'ok', 'waiting' } end
  if rec.state ~= 'active' then return reply.no('not_active', 'id', id, 'state', rec.state) end

  local fence = rec.fence
  record.clear(tag, id, rec, { 'fence' })
  log.append(tag, id, rec, {
    at = now,
    event = 'lease_revoked',
    attempt = rec.attempts - 1,
    worker = rec.worker,
    reason = reason,
    request = request,
  })
  requeue.ready(tag, id, rec, now, { 'turn', 'reclaim', 'revoked', fence })
  return { 'ok', 'waiting' }
end
