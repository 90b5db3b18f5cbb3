--- Waitpoints that can be answered, the oldest first.
--- @key tag the partition
--- @arg tenant or empty for all @arg after stamp @arg limit
--- @ok rows: WAITPOINT_ID TENANT KIND LANE HOLD PACKED
--- @flags no-writes
--- @requires lib/keys lib/waitpoints

local function run(tag, args)
  local tenant, after, limit = unpack(args)
  local key = keys.open_waitpoints(tag, tenant)
  local rows = {}
  for _, waitpoint_id in ipairs(server.call('ZRANGE', key, '(' .. after, '+inf', 'BYSCORE', 'LIMIT', 0, limit)) do
    local id, number = waitpoints.parse(waitpoint_id)
    local rec = server.call('HMGET', keys.record(tag, id), 'tenant', 'kind', 'lane', 'hold')
    local packed = server.call('HGET', keys.waitpoints(tag, id), number)
    rows[#rows + 1] = { waitpoint_id, rec[1], rec[2], rec[3], rec[4] or '', packed }
  end
  return { 'ok', rows }
end
