--- Add a pack, whose archive is sealed, to those of a tenant. Of two archives of the same pack the one
--- with more signatures is kept.
--- @key tag the global partition
--- @arg tenant @arg digest @arg id @arg version @arg archive the digest of the file @arg size
--- @arg signers public keys in msgpack @arg entry the flow that is reached without naming one, or empty
--- @arg flows those that messages can start, in msgpack: pairs of id and type
--- @ok created | replaced | same, what is stored in msgpack
--- @flags write
--- @requires lib/core/keys lib/core/clock lib/deploy/archives

local function run(tag, args)
  local tenant, digest, id, version, archive, size, signers, entry, flows = unpack(args)
  local key = keys.pack(tag, digest)
  local packed = server.call('HGET', key, tenant)
  local found = packed and cmsgpack.unpack(packed)
  signers = cmsgpack.unpack(signers)
  if found and #signers <= #found.signers then return { 'ok', 'same', packed } end
  local pack = {
    id = id,
    version = version,
    archive = archive,
    size = tonumber(size),
    signers = signers,
    entry = entry,
    flows = cmsgpack.unpack(flows),
    at = found and found.at or clock.now(tag),
  }
  packed = cmsgpack.pack(pack)
  local user = archives.upload(tenant, digest)
  archives.use(tag, archive, user)
  if found and found.archive ~= archive then archives.leave(tag, found.archive, user) end
  server.call('HSET', key, tenant, packed)
  server.call('ZADD', keys.packs(tag), 0, tenant .. '|' .. digest)
  return { 'ok', found and 'replaced' or 'created', packed }
end
