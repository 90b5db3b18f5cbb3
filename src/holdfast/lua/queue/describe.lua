--- The definition of a queue, its groups, and what it dropped lately.
--- @key tag the queue
--- @ok FIELDS as name, value pairs, GROUPS, DROPPED envelopes in msgpack
--- @no queue_not_found
--- @flags no-writes
--- @requires lib/core/keys lib/queue/queue lib/core/reply

local function run(tag, _)
  local fields = server.call('HGETALL', keys.queue(tag))
  if #fields == 0 then return reply.no('queue_not_found', 'queue', queue.name(tag)) end
  local groups = server.call('ZRANGE', keys.groups(tag), 0, -1)
  return { 'ok', fields, groups, server.call('LRANGE', keys.dropped(tag), 0, -1) }
end
