--- What a token is made of. Reading it is written to the history of the execution.
--- @key tag the partition
--- @arg id of the execution @arg number of the waitpoint @arg request id of this call @arg reader
--- @arg person whose token it is, or empty for the one that all share
--- @ok PACKED
--- @no waitpoint_not_found | waitpoint_closed | signal_not_allowed
--- @event token_read
--- @flags write @owned execution
--- @requires lib/core/clock lib/core/log lib/core/record lib/core/reply lib/waitpoint/waitpoints
--- @requires lib/waitpoint/senders

local function run(tag, args)
  local id, number, request, reader, person = args[1], tonumber(args[2]), args[3], args[4], args[5] or ''
  local now = clock.now(tag)
  local rec = record.read(tag, id)
  local point = rec and waitpoints.read(tag, id, number)
  local waitpoint_id = waitpoints.id(id, number)
  if not point then return reply.no('waitpoint_not_found', 'id', waitpoint_id) end
  if not waitpoints.lives(point, now) then
    return reply.no('waitpoint_closed', 'id', waitpoint_id, 'why', point.why or 'expired')
  end
  local refusal = senders.refuse_person(id, number, point, person)
  if refusal then return refusal end
  if not log.find(tag, id, rec, { event = 'token_read', request = request }) then
    local entry = { at = now, event = 'token_read', waitpoint = waitpoint_id, reader = reader, request = request }
    if person ~= '' then entry.person = person end
    log.append(tag, id, rec, entry)
  end
  return { 'ok', cmsgpack.pack(point) }
end
