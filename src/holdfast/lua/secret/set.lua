--- Keep a sealed secret of a tenant, in place of the one before.
--- @key tag the partition of the scope
--- @arg scope ENV|TENANT @arg name @arg kid the key that sealed it @arg sealed opaque bytes
--- @arg most how many secrets a scope can have
--- @ok the time
--- @no too_many_secrets
--- @flags write
--- @requires lib/core/keys lib/core/clock lib/core/reply

local function run(tag, args)
  local scope, name, kid, sealed, most = unpack(args)
  local key, now = keys.secrets(tag, scope), clock.now(tag)
  local known = server.call('HEXISTS', key, 'kid:' .. name) == 1
  -- Each secret has three fields.
  if not known and server.call('HLEN', key) >= 3 * tonumber(most) then
    return reply.no('too_many_secrets', 'limit', most)
  end
  server.call('HSET', key, 'kid:' .. name, kid, 'sealed:' .. name, sealed, 'at:' .. name, now)
  return { 'ok', now }
end
