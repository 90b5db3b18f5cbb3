--- Add a key that seals secrets and make it the current one, unless another process was faster.
--- Keys are never removed: secrets that were sealed with them may still be kept.
--- @key tag the global partition
--- @arg kid @arg key_hex @arg expected the current kid, or empty
--- @ok the current kid
--- @no rotation_conflict
--- @flags write
--- @requires lib/core/keys lib/core/reply

local function run(tag, args)
  local kid, secret, expected = unpack(args)
  local ring = keys.sealing_keys(tag)
  local current = server.call('HGET', ring, 'current') or ''
  if current == kid or current ~= expected then return { 'ok', current } end
  if server.call('HEXISTS', ring, 'key:' .. kid) == 1 then
    return reply.no('rotation_conflict', 'kid', kid)
  end
  server.call('HSET', ring, 'current', kid, 'key:' .. kid, secret)
  return { 'ok', kid }
end
