--- Stage a revision of a deployment. A repeated call gets the same answer; an id that means another
--- revision is refused, because workers advertise the id alone.
--- @key tag the global partition
--- @arg env @arg tenant or empty @arg deployment @arg by who calls @arg id @arg content the digest of the rest
--- @arg packs_of a tenant, empty: of any tenant @arg config in JSON
--- @arg digests of the pack and of its overlays, none for an app
--- @ok created | exists
--- @no deployment_not_found | ambiguous_deployment | revision_conflict | pack_not_found | pack_mismatch
--- @no untrusted_pack | too_many_revisions
--- @flags write
--- @requires lib/core/keys lib/core/clock lib/core/reply lib/deploy/deployments lib/deploy/archives

local MOST_REVISIONS = 200

--- A pack as a tenant uploaded it, or any tenant if `owner` is empty; that of `first` is preferred.
local function pack_of(tag, digest, first, owner)
  local key = keys.pack(tag, digest)
  local packed = server.call('HGET', key, owner ~= '' and owner or first)
  if not packed and owner == '' then packed = server.call('HVALS', key)[1] end
  return packed and cmsgpack.unpack(packed)
end

--- Whether an env accepts a pack; `local` accepts every pack until it is put otherwise.
local function trusts(tag, env, pack)
  local unsigned, trust = unpack(server.call('HMGET', keys.env(tag, env), 'unsigned', 'trust'))
  if (unsigned or (env == 'local' and '1')) == '1' then return true end
  local trusted = {}
  for _, key in ipairs(trust and cmsgpack.unpack(trust) or {}) do trusted[key] = true end
  for _, key in ipairs(pack.signers) do
    if trusted[key] then return true end
  end
  return false
end

--- The archives, signers and flows of packs, or nil and a refusal.
local function look_up(tag, deployment, digests, owner)
  local files, signers, flows = {}, {}, {}
  for i, digest in ipairs(digests) do
    local pack = pack_of(tag, digest, deployment.tenant, owner)
    if not pack then return nil, reply.no('pack_not_found', 'digest', digest) end
    if i == 1 and pack.id ~= deployment.pack then
      return nil, reply.no('pack_mismatch', 'digest', digest, 'pack', pack.id, 'expected', deployment.pack)
    end
    if not trusts(tag, deployment.env, pack) then
      return nil, reply.no('untrusted_pack', 'digest', digest, 'env', deployment.env)
    end
    files[i], signers[i] = pack.archive, pack.signers
    flows[i] = { pack.id, pack.entry, pack.flows }
  end
  return files, signers, flows
end

local function run(tag, args)
  local env, tenant, deployment_id, by, id, content, owner, config = unpack(args, 1, 8)
  local digests = { unpack(args, 9) }
  local now = clock.now(tag)
  local name, refusal = deployments.find(tag, env, tenant, deployment_id)
  if not name then return refusal end
  local known = server.call('HMGET', keys.revision(tag, id), 'deployment', 'content')
  if known[1] == name and known[2] == content then return { 'ok', 'exists' } end
  if known[1] then return reply.no('revision_conflict', 'id', id) end
  local key = keys.deployment(tag, name)
  local fields = server.call('HMGET', key, 'env', 'tenant', 'pack')
  local deployment = { env = fields[1], tenant = fields[2], pack = fields[3] or nil }
  local files, signers, flows = look_up(tag, deployment, digests, owner)
  if not files then return signers end
  if server.call('ZCARD', keys.revisions(tag, name)) >= MOST_REVISIONS then
    return reply.no('too_many_revisions', 'id', deployment_id, 'limit', MOST_REVISIONS)
  end

  local number = server.call('HINCRBY', key, 'revisions', 1)
  server.call(
    'HSET', keys.revision(tag, id),
    'id', id, 'deployment', name, 'number', number, 'content', content,
    'digests', cmsgpack.pack(digests), 'archives', cmsgpack.pack(files), 'signers', cmsgpack.pack(signers),
    'flows', cmsgpack.pack(flows), 'config', config,
    'lifecycle', 'staged', 'version', 1, 'staged_at', now, 'changed_at', now
  )
  server.call('ZADD', keys.revisions(tag, name), number, id)
  for _, file in ipairs(files) do archives.use(tag, file, archives.revision(name, id)) end
  deployments.changed(tag, name, now, { event = 'staged', by = by, revision = id })
  return { 'ok', 'created' }
end
