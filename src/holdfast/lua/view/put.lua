--- Replace the view of an execution. The same value again changes nothing.
--- @key tag the partition
--- @arg id @arg fence @arg value JSON
--- @ok VERSION
--- @no execution_not_found | not_active | stale_lease | lease_revoked
--- @flags write @owned execution
--- @requires lib/core/keys lib/core/clock lib/core/record lib/execution/lease lib/stream/feed

local function run(tag, args)
  local id, fence, value = unpack(args)
  local now = clock.now(tag)
  local rec, refusal = lease.check(tag, id, fence, now)
  if not rec then return refusal end
  local key = keys.view(tag, id)
  if rec.view and server.call('GET', key):match('^%d+ (.*)$') == value then return { 'ok', tonumber(rec.view) } end

  local version = tonumber(rec.view or 0) + 1
  server.call('SET', key, ('%d '):format(now) .. value)
  record.write(tag, id, rec, { 'view', version })
  feed.notify(tag, id, rec)
  return { 'ok', version }
end
