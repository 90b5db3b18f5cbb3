--- Waitpoints that can be answered, the oldest first.
--- @key tag the partition
--- @arg tenant or empty for all @arg after stamp @arg limit
--- @ok rows: WAITPOINT_ID TENANT KIND LANE HOLD PACKED
--- @flags no-writes
--- @requires lib/core/keys lib/core/record lib/waitpoint/waitpoints lib/waitpoint/suspensions

local function run(tag, args)
  local tenant, after, limit = unpack(args)
  local key = keys.open_waitpoints(tag, tenant)
  local rows = {}
  for _, waitpoint_id in ipairs(server.call('ZRANGE', key, '(' .. after, '+inf', 'BYSCORE', 'LIMIT', 0, limit)) do
    local id, number = waitpoints.parse(waitpoint_id)
    local rec = record.read(tag, id)
    local packed = server.call('HGET', keys.waitpoints(tag, id), number)
    local shown = suspensions.shown(tag, id, rec, number, packed)
    rows[#rows + 1] = { waitpoint_id, rec.tenant, rec.kind, rec.lane, rec.hold or '', shown }
  end
  return { 'ok', rows }
end
