--- Make a new key the current one; the old one stays valid for a grace period.
--- @key tag the global partition
--- @arg kid @arg secret_hex @arg grace_ms
--- @ok KID PREVIOUS or empty
--- @no rotation_conflict
--- @flags write
--- @requires lib/core/keys lib/core/clock lib/admin/keyring lib/core/reply

local function run(tag, args)
  local kid, secret, grace = unpack(args)
  local now = clock.now(tag)
  local key = keys.keyring(tag)
  local current, known = keyring.field(tag, 'current'), keyring.field(tag, 'secret:' .. kid)
  if current == kid and known == secret then
    return { 'ok', kid, keyring.field(tag, 'previous') or '' }
  end
  -- A retired kid cannot be used again: a late repetition of its rotation would undo the newer one.
  if known then return reply.no('rotation_conflict', 'kid', kid) end

  keyring.collect(tag, now)
  if current then
    server.call('HSET', key, 'previous', current, 'until:' .. current, now + tonumber(grace))
  end
  server.call('HSET', key, 'current', kid, 'secret:' .. kid, secret)
  return { 'ok', kid, current or '' }
end
