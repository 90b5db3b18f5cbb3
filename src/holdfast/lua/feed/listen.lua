--- Keep the event feed of a tenant for some minutes; listeners repeat this call regularly.
--- @key tag the partition
--- @arg tenant
--- @ok KEPT as 1 if it was kept before, LAST entry id, GONE the id up to which entries are gone
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock lib/core/timers lib/stream/feed

local function info_of(key)
  local info = {}
  if server.call('EXISTS', key) == 1 then
    local flat = server.call('XINFO', 'STREAM', key)
    for i = 1, #flat, 2 do info[flat[i]] = flat[i + 1] end
  end
  return info
end

local function run(tag, args)
  local tenant = args[1]
  local now = clock.now(tag)
  local kept = server.call('HEXISTS', keys.feeds(tag), tenant)
  server.call('HSET', keys.feeds(tag), tenant, now + feed.LISTENING_MS)
  if kept == 0 then timers.set(tag, 'f:' .. tenant, now + feed.LISTENING_MS, now) end
  local info = info_of(keys.feed(tag, tenant))
  local trimmed = info.length and info['entries-added'] > info.length
  return { 'ok', kept, info['last-generated-id'] or '0-0', trimmed and info['first-entry'][1] or '0-0' }
end
