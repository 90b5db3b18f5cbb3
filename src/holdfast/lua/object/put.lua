--- Write an object if it has the expected version. Repeated, it gets the same answer.
--- @key tag the global partition
--- @arg name @arg expected empty: there must be none @arg version of what is written, unique @arg body
--- @ok
--- @no version_conflict
--- @flags write
--- @requires lib/core/keys lib/core/reply

local function run(tag, args)
  local name, expected, version, body = unpack(args)
  local key = keys.object(tag, name)
  local current = server.call('HGET', key, 'version') or ''
  if current == version then return { 'ok' } end
  if current ~= expected then return reply.no('version_conflict', 'key', name) end
  server.call('HSET', key, 'version', version, 'body', body)
  server.call('ZADD', keys.objects(tag), 0, name)
  return { 'ok' }
end
