--- Create an env, or replace what it trusts.
--- @key tag the global partition
--- @arg env @arg unsigned 1 if packs need no signature @arg trust public keys in msgpack
--- @ok created | replaced | same
--- @flags write
--- @requires lib/core/keys lib/core/clock

local function run(tag, args)
  local env, unsigned, trust = unpack(args)
  local key = keys.env(tag, env)
  local found = server.call('HMGET', key, 'unsigned', 'trust')
  if found[1] == unsigned and found[2] == trust then return { 'ok', 'same' } end
  server.call('HSETNX', key, 'born', clock.now(tag))
  server.call('HSET', key, 'unsigned', unsigned, 'trust', trust)
  return { 'ok', server.call('SADD', keys.envs(tag), env) == 1 and 'created' or 'replaced' }
end
