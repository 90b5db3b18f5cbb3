--- Why executions failed or expired: each kind and cause with the number of those that ended in a time.
--- @key tag the partition
--- @arg tenant or empty for all @arg kind or empty for all @arg since @arg until ends in ms, as bounds of a range
--- @ok rows: `KIND|CAUSE`, count, first end, the last three: id, end
--- @flags no-writes
--- @requires lib/core/keys lib/core/causes

local EXAMPLES = 3

local function row_of(tag, tenant, name, since, untl)
  local key = keys.cause_ends(tag, tenant, name)
  local count = server.call('ZCOUNT', key, since, untl)
  if count == 0 then return nil end
  local first = server.call('ZRANGE', key, since, untl, 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
  local last = server.call('ZRANGE', key, untl, since, 'BYSCORE', 'REV', 'LIMIT', 0, EXAMPLES, 'WITHSCORES')
  return { name, count, first[2], last }
end

local function run(tag, args)
  local tenant, kind, since, untl = unpack(args)
  local tenants = tenant ~= '' and { tenant } or server.call('SMEMBERS', keys.tenants(tag))
  local rows = { 'ok' }
  for _, one in ipairs(tenants) do
    for _, name in ipairs(server.call('SMEMBERS', keys.causes(tag, one))) do
      if kind == '' or causes.parse(name) == kind then rows[#rows + 1] = row_of(tag, one, name, since, untl) end
    end
  end
  return rows
end
