--- Let a suspended execution continue without the signals that it waits for, by a signal named `resume`.
--- @key tag the partition
--- @arg id @arg request id of this call @arg payload @arg identity who does it
--- @ok waiting
--- @no execution_not_found | not_suspended
--- @event woken
--- @flags write @owned execution
--- @requires lib/core/clock lib/core/log lib/core/record lib/core/reply lib/waitpoint/suspensions
--- @requires lib/waitpoint/signals lib/session/conversations

local function run(tag, args)
  local id, request, payload, identity = unpack(args)
  local now = clock.now(tag)
  local rec = record.read(tag, id)
  if not rec then return reply.no('execution_not_found', 'id', id) end
  if log.find(tag, id, rec, { event = 'woken', request = request }) then return { 'ok', 'waiting' } end
  if rec.state ~= 'suspended' or conversations.waits(rec) then
    return reply.no('not_suspended', 'id', id, 'state', rec.state)
  end

  local signal = { at = now, name = 'resume', payload = payload, type = 'operator', identity = identity }
  signal.effect = 'resumed'
  local number = signals.append(tag, id, rec, signal)
  local entry = { by = 'operator', signal = 'resume', request = request, identity = identity }
  suspensions.resume(tag, id, rec, suspensions.read(tag, id), now, entry, number)
  return { 'ok', 'waiting' }
end
