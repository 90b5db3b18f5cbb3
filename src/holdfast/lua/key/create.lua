--- Store an API key by its digest. A repeated call changes nothing: a revoked key stays revoked.
--- @key tag the global partition
--- @arg id @arg digest @arg name @arg tenant or empty @arg roles comma separated
--- @arg ttl_ms or empty @arg most keys there may be
--- @arg payloads which of them it sees, or absent
--- @ok fields as name, value pairs
--- @no too_many_keys
--- @flags write
--- @requires lib/core/keys lib/core/clock lib/core/reply lib/admin/api_keys

local function run(tag, args)
  local id, digest, name, tenant, roles, ttl_ms, most, payloads = unpack(args)
  local key = keys.access(tag, id)
  local known = server.call('HGETALL', key)
  if #known > 0 then return { 'ok', known } end
  if server.call('SCARD', keys.accesses(tag)) >= tonumber(most) then
    return reply.no('too_many_keys', 'limit', most)
  end

  local now = clock.now(tag)
  server.call('HSET', key, 'digest', digest, 'name', name, 'tenant', tenant, 'roles', roles, 'created', now)
  if payloads then server.call('HSET', key, 'payloads', payloads) end
  server.call('SADD', keys.accesses(tag), id)
  if ttl_ms ~= '' then
    local ends = now + tonumber(ttl_ms)
    server.call('HSET', key, 'expires', ends)
    access.end_at(tag, id, ends, now)
  end
  return { 'ok', server.call('HGETALL', key) }
end
