--- Bind an idempotency key to an id that the caller named, where the key lives. The caller then
--- creates that id; a crash in between leaves a binding that the next call with the key follows.
--- @key tag the partition of the key
--- @arg tenant @arg key @arg derived the id the key alone would get @arg id @arg digest @arg ttl_ms
--- @arg gone an id that is known to be gone, whose binding does not count, or empty
--- @ok bound ID | taken ID
--- @no idempotency_conflict
--- @flags write
--- @requires lib/core/keys lib/core/record lib/core/reply

local function run(tag, args)
  local tenant, key, derived, id, digest, ttl_ms, gone = unpack(args)
  local alias = keys.alias(tag, tenant, key)
  local bound = server.call('GET', alias)
  local other, other_digest
  if bound then
    other, other_digest = bound:match('^(%S+) (%S+)$')
  else
    other_digest = record.get(tag, derived, 'digest')[1]
    other = other_digest and derived
  end
  if other == gone then other = nil end
  if other and other_digest ~= digest then
    return reply.no('idempotency_conflict', 'id', other, 'digest', other_digest)
  end
  if other and other ~= id then return { 'ok', 'taken', other } end
  server.call('SET', alias, id .. ' ' .. digest, 'PX', ttl_ms)
  return { 'ok', 'bound', id }
end
