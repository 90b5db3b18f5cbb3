--- What uses the archives of packs, in the global partition: uploads, `p|TENANT|DIGEST`, and revisions that
--- can be loaded, `r|ENV|TENANT|DEPLOYMENT|REVISION`. An archive that nothing uses is listed until a sweep
--- has let its parts expire; they live under another tag (store/packs.py).
--- @requires lib/core/keys
local archives = {}

function archives.upload(tenant, digest) return 'p|' .. tenant .. '|' .. digest end

function archives.revision(name, id) return 'r|' .. name .. '|' .. id end

--- A sweep that found it unused looks again, so it stays listed.
function archives.use(tag, archive, user) server.call('SADD', keys.archive_uses(tag, archive), user) end

function archives.is_used(tag, archive) return server.call('EXISTS', keys.archive_uses(tag, archive)) == 1 end

function archives.leave(tag, archive, user)
  if server.call('SREM', keys.archive_uses(tag, archive), user) == 0 then return end
  if not archives.is_used(tag, archive) then server.call('SADD', keys.unused_archives(tag), archive) end
end

--- A revision is not loaded any more; `packed` are its archives in msgpack.
function archives.leave_all(tag, packed, user)
  for _, archive in ipairs(packed and cmsgpack.unpack(packed) or {}) do archives.leave(tag, archive, user) end
end

--- What loads an archive, in words that a tenant may read, or nil.
function archives.loaded_by(tag, archive, tenant)
  local words
  for _, user in ipairs(server.call('SMEMBERS', keys.archive_uses(tag, archive))) do
    local env, owner, deployment, revision = user:match('^r|([^|]+)|([^|]+)|([^|]+)|(.+)$')
    if owner == tenant then
      return 'revision ' .. revision .. ' of deployment ' .. deployment .. ' in env ' .. env
    end
    words = owner and 'a revision of another tenant' or words
  end
  return words
end
