--- Send a signal to an execution, which its code receives when it asks for it.
--- @key tag the partition
--- @arg id @arg request id of this call: repeated, it gets its first answer @arg key idempotency key, or empty
--- @arg name @arg payload @arg type @arg identity of the source @arg correlation or empty
--- @ok EFFECT NUMBER, the effect is buffered or duplicate
--- @no execution_not_found | already_terminal | inbox_full
--- @event signalled
--- @flags write @owned execution
--- @requires lib/core/clock lib/core/record lib/core/reply lib/core/wake lib/core/log
--- @requires lib/execution/inbox lib/execution/requeue

local function run(tag, args)
  local id, request, key, name, payload, type, identity, correlation = unpack(args)
  local now = clock.now(tag)
  local rec = record.read(tag, id)
  if not rec then return reply.no('execution_not_found', 'id', id) end
  if rec.mail then
    local effect, number = inbox.known(tag, id, key, request)
    if effect then return { 'ok', effect, number } end
  end
  if record.is_terminal(rec.state) then return reply.no('already_terminal', 'id', id, 'state', rec.state) end
  if inbox.is_full(tag, id, rec, #payload) then
    return reply.no('inbox_full', 'id', id, 'limit', inbox.MOST, 'bytes', inbox.MOST_BYTES)
  end

  local number = inbox.add(tag, id, rec, {
    at = now, name = name, payload = payload, type = type, identity = identity, effect = 'buffered',
    key = key ~= '' and key or nil, correlation = correlation ~= '' and correlation or nil,
  }, request)
  if inbox.awaits(rec, name) then
    local attempt = rec.attempts - 1
    log.append(tag, id, rec, { at = now, event = 'signalled', signal = name, attempt = attempt })
    requeue.ready(tag, id, rec, now, {})
  elseif rec.listener then
    wake.process(tag, rec.listener, 'signal ' .. id)
  end
  return { 'ok', 'buffered', number }
end
