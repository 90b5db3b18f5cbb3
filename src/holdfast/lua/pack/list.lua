--- Packs in the order of tenant and digest.
--- @key tag the global partition
--- @arg tenant or empty @arg after `TENANT|DIGEST` to continue after, or empty @arg limit
--- @ok per pack: `TENANT|DIGEST`, what is known of it in msgpack
--- @flags no-writes
--- @requires lib/core/keys lib/core/catalog

local function run(tag, args)
  local rows = { 'ok' }
  for _, entry in ipairs(catalog.page(keys.packs(tag), args[1], args[2], tonumber(args[3]))) do
    local tenant, digest = entry:match('^([^|]+)|(.+)$')
    rows[#rows + 1] = { entry, server.call('HGET', keys.pack(tag, digest), tenant) }
  end
  return rows
end
