--- Remove a pack from those of a tenant, unless a revision that can be loaded uses its archive.
--- @key tag the global partition
--- @arg tenant @arg digest @arg token of this call; older callers send none
--- @ok removed | absent
--- @no pack_in_use
--- @flags allow-oom
--- @requires lib/core/keys lib/core/reply lib/deploy/archives lib/core/once

local function remove(tag, args)
  local tenant, digest = unpack(args)
  local key = keys.pack(tag, digest)
  local packed = server.call('HGET', key, tenant)
  if not packed then return { 'ok', 'absent' } end
  local archive = cmsgpack.unpack(packed).archive
  local user = archives.loaded_by(tag, archive, tenant)
  if user then return reply.no('pack_in_use', 'digest', digest, 'by', user) end

  server.call('HDEL', key, tenant)
  server.call('ZREM', keys.packs(tag), tenant .. '|' .. digest)
  archives.leave(tag, archive, archives.upload(tenant, digest))
  return { 'ok', 'removed' }
end

local function run(tag, args) return once.run(tag, args[3], remove, args) end
