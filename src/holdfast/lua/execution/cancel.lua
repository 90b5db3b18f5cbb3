--- Cancel an execution in any state that is not terminal. A holder learns of it at its next call.
--- @key tag the partition
--- @arg id @arg request id of this call @arg reason
--- @ok cancelled
--- @no execution_not_found | already_terminal
--- @event cancelled
--- @flags allow-oom @owned execution
--- @requires lib/core/clock lib/core/record lib/core/reply lib/core/log lib/execution/finish

local function run(tag, args)
  local id, request, reason = unpack(args)
  local now = clock.now(tag)
  local rec = record.read(tag, id)
  if not rec then return reply.no('execution_not_found', 'id', id) end
  if log.find(tag, id, rec, { event = 'cancelled', request = request }) then return { 'ok', 'cancelled' } end
  if record.is_terminal(rec.state) then return reply.no('already_terminal', 'id', id, 'state', rec.state) end

  finish.now(tag, id, rec, 'cancelled', now, {}, {
    event = 'cancelled',
    attempt = record.open_attempt(rec),
    reason = reason,
    request = request,
  })
  return { 'ok', 'cancelled' }
end
