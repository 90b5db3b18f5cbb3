--- Write an item of an agent's memory in place of the one before, which gives it its birth.
--- @key tag the partition of the namespace
--- @arg tenant @arg field NAMESPACE\0KEY @arg value opaque @arg ttl_ms or empty: forever
--- @ok
--- @flags write
--- @requires lib/core/clock lib/memory/memories

local function run(tag, args)
  local tenant, field, value, ttl = unpack(args)
  local now = clock.now(tag)
  local before = memories.find(tag, tenant, field, now)
  local item = { value = value, born = before and before.born or now, changed = now }
  if ttl ~= '' then
    item.ttl = tonumber(ttl)
    item.until_ms = now + item.ttl
  end
  memories.write(tag, tenant, field, item, now)
  return { 'ok' }
end
