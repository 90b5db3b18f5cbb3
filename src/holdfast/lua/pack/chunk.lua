--- Write a part of the archive of a pack. Until `pack/seal` it expires.
--- @key tag the archive, by its digest
--- @arg number of the part, from 0 @arg bytes @arg keep_ms
--- @ok
--- @flags write
--- @requires lib/core/keys

local function run(tag, args)
  local number, bytes, keep = unpack(args)
  local key = keys.blob(tag)
  if server.call('HEXISTS', key, 'sealed') == 1 then return { 'ok' } end
  server.call('HSET', key, number, bytes)
  server.call('PEXPIRE', key, keep)
  return { 'ok' }
end
