--- Items of an agent's memory, in the order of their fields. Reading may begin their time again.
--- @key tag the partition
--- @arg tenant @arg low @arg high the bounds of fields, as ZRANGE BYLEX takes them
--- @arg limit how many at most @arg refresh 1: items with an end are kept for their time from now on
--- @ok LAST, the last field that was looked at or empty; per item: FIELD BORN_MS CHANGED_MS VALUE
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock lib/memory/memories

local function run(tag, args)
  local tenant, low, high, limit, refresh = unpack(args)
  local now = clock.now(tag)
  local fields = server.call(
    'ZRANGE', keys.memory_index(tag, tenant), low, high, 'BYLEX', 'LIMIT', 0, limit
  )
  local rows = {}
  for _, field in ipairs(fields) do
    local item = memories.find(tag, tenant, field, now)
    if item then
      rows[#rows + 1] = { field, item.born, item.changed, item.value }
      if refresh == '1' and item.ttl then
        item.until_ms = now + item.ttl
        memories.write(tag, tenant, field, item, now)
      end
    end
  end
  return { 'ok', fields[#fields] or '', rows }
end
