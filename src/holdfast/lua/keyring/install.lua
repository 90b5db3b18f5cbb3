--- Put the first key into an empty ring, or repair one whose current key has no secret.
--- @key tag the global partition
--- @arg kid @arg secret_hex
--- @ok fresh | match | mismatch | repaired, and the current kid
--- @flags write
--- @requires lib/core/keys lib/admin/keyring

local function run(tag, args)
  local kid, secret = unpack(args)
  local current = keyring.field(tag, 'current')
  local known = current and keyring.field(tag, 'secret:' .. current)
  if known then
    local same = current == kid and known == secret
    return { 'ok', same and 'match' or 'mismatch', current }
  end
  local torn = server.call('EXISTS', keys.keyring(tag)) == 1
  server.call('HSET', keys.keyring(tag), 'current', kid, 'secret:' .. kid, secret)
  server.call('HDEL', keys.keyring(tag), 'until:' .. kid)
  return { 'ok', torn and 'repaired' or 'fresh', kid }
end
