--- Revoke an API key. If the call is repeated, the first time counts.
--- @key tag the global partition
--- @arg id @arg tenant only a key of this tenant, or empty
--- @ok REVOKED_AT
--- @no key_not_found
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock lib/core/reply lib/admin/api_keys

local function run(tag, args)
  local id, tenant = unpack(args)
  local key = keys.access(tag, id)
  local known = server.call('HMGET', key, 'tenant', 'revoked')
  if not known[1] or (tenant ~= '' and known[1] ~= tenant) then return reply.no('key_not_found', 'id', id) end
  if known[2] then return { 'ok', known[2] } end

  local now = clock.now(tag)
  server.call('HSET', key, 'revoked', now)
  access.end_at(tag, id, now, now)
  return { 'ok', tostring(now) }
end
