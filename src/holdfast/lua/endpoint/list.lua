--- Endpoints of an env in the order of tenant and id, without their secrets.
--- @key tag the global partition
--- @arg env @arg tenant or empty @arg after `TENANT|ID` to continue after, or empty @arg limit
--- @ok per endpoint: fields
--- @flags no-writes
--- @requires lib/core/keys lib/core/catalog

local function run(tag, args)
  local env, tenant, after, limit = unpack(args)
  local rows = { 'ok' }
  for _, entry in ipairs(catalog.page(keys.endpoints(tag, env), tenant, after, tonumber(limit))) do
    rows[#rows + 1] = server.call('HGETALL', keys.endpoint(tag, env, entry:match('|(.+)$')))
  end
  return rows
end
