--- Values of a pack's state for a tenant.
--- @key tag the partition of the scope
--- @arg scope ENV|TENANT|PACK @arg names the rest are names
--- @ok per name: VERSION VALUE, or an empty list if there is none
--- @flags no-writes
--- @requires lib/core/clock lib/state/entries

local function run(tag, args)
  local scope, now, rows = args[1], clock.now(tag), {}
  for i = 2, #args do
    local entry = entries.read(tag, scope, args[i], now)
    rows[#rows + 1] = entry and { entry.version, entry.value } or {}
  end
  return { 'ok', rows }
end
