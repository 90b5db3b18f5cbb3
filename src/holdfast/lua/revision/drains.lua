--- The revisions that drain, in all envs, and how long each may still take.
--- @key tag the global partition
--- @ok per revision: ENV|TENANT|DEPLOYMENT|REVISION, ms until its deadline, negative after it, or empty
--- @flags no-writes
--- @requires lib/core/keys lib/core/clock

local function run(tag, _)
  local now, rows = clock.now(tag), { 'ok' }
  for _, name in ipairs(server.call('SMEMBERS', keys.draining_revisions(tag))) do
    local key = keys.revision(tag, name:match('[^|]+$'))
    local since, drain_ms = unpack(server.call('HMGET', key, 'drained_at', 'drain_ms'))
    local left = since and (drain_ms or '') ~= '' and since + drain_ms - now
    rows[#rows + 1] = { name, left and ('%d'):format(left) or '' }
  end
  return rows
end
