--- The record of an API key, the time to compare its end with, and the number of keys.
--- @key tag the global partition
--- @arg id
--- @ok NOW, COUNT of keys, fields as name, value pairs, none if there is no such key
--- @flags no-writes
--- @requires lib/core/keys lib/core/clock

local function run(tag, args)
  local count = server.call('SCARD', keys.accesses(tag))
  return { 'ok', clock.now(tag), count, server.call('HGETALL', keys.access(tag, args[1])) }
end
