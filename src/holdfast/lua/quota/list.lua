--- Quotas of a partition in the order of tenant and id.
--- @key tag the partition of quotas
--- @arg tenant or empty @arg after `TENANT|ID` to continue after, or empty @arg limit
--- @ok `TENANT|ID` of each
--- @flags no-writes
--- @requires lib/core/keys lib/core/catalog

local function run(tag, args)
  return { 'ok', catalog.page(keys.quotas(tag), args[1], args[2], tonumber(args[3])) }
end
