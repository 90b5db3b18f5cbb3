--- Read the event feed of a tenant, oldest first.
--- @key tag the partition
--- @arg tenant @arg from entry id, with ( in front to leave it out @arg limit
--- @ok NOW, rows: id, fields as name, value pairs
--- @flags no-writes
--- @requires lib/core/keys lib/core/clock

local function run(tag, args)
  local tenant, from, limit = unpack(args)
  return { 'ok', clock.now(tag), server.call('XRANGE', keys.feed(tag, tenant), from, '+', 'COUNT', limit) }
end
