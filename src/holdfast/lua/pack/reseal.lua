--- Keep an archive whose parts were to expire.
--- @key tag the archive, by its digest
--- @ok
--- @flags allow-oom
--- @requires lib/core/keys

local function run(tag, _)
  local key = keys.blob(tag)
  local parts = server.call('HGET', key, 'unsealed')
  if not parts then return { 'ok' } end
  server.call('HSET', key, 'sealed', parts)
  server.call('HDEL', key, 'unsealed')
  server.call('PERSIST', key)
  return { 'ok' }
end
