--- The secrets of a scope, without what they are; their number is bounded.
--- @key tag the partition of the scope
--- @arg scope ENV|TENANT
--- @ok per secret, by name: NAME KID AT
--- @flags no-writes
--- @requires lib/core/keys

local function run(tag, args)
  local key, rows = keys.secrets(tag, args[1]), {}
  for _, field in ipairs(server.call('HKEYS', key)) do
    local name = field:match('^kid:(.+)$')
    if name then
      local found = server.call('HMGET', key, field, 'at:' .. name)
      rows[#rows + 1] = { name, found[1], found[2] }
    end
  end
  table.sort(rows, function(a, b) return a[1] < b[1] end)
  return { 'ok', rows }
end
