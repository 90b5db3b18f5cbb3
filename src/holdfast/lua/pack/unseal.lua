--- Let the parts of an archive expire, unless it is sealed again before.
--- @key tag the archive, by its digest
--- @arg keep for how many ms
--- @ok
--- @flags allow-oom
--- @requires lib/core/keys

local function run(tag, args)
  local key = keys.blob(tag)
  local parts = server.call('HGET', key, 'sealed')
  if not parts then return { 'ok' } end
  server.call('HSET', key, 'unsealed', parts)
  server.call('HDEL', key, 'sealed')
  server.call('PEXPIRE', key, args[1])
  return { 'ok' }
end
