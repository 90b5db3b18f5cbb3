--- Names of a tenant's threads in this partition, in order.
--- @key tag the partition
--- @arg tenant @arg after a name, or empty: from the first @arg limit how many at most
--- @ok a list of names
--- @flags no-writes
--- @requires lib/core/keys

local function run(tag, args)
  local tenant, after, limit = unpack(args)
  local low = after == '' and '-' or '(' .. after
  return { 'ok', server.call('ZRANGE', keys.threads(tag, tenant), low, '+', 'BYLEX', 'LIMIT', 0, limit) }
end
