--- What is stored of an API key, whether it may still be used, and whether there are keys at all.
--- @key tag the global partition
--- @arg id
--- @ok NOW, COUNT of keys, fields as name, value pairs, none if there is no such key
--- @flags no-writes
--- @requires lib/core/keys lib/core/clock

local function run(tag, args)
  local count = server.call('SCARD', keys.accesses(tag))
  return { 'ok', clock.now(tag), count, server.call('HGETALL', keys.access(tag, args[1])) }
end
