--- Schedules that are due.
--- @key tag the partition
--- @arg limit
--- @ok NOW, rows: id, fields as name, value pairs, plan, number running, number lined up
--- @flags no-writes
--- @requires lib/core/keys lib/core/clock lib/admin/schedules

local function run(tag, args)
  local now = clock.now(tag)
  local found = { 'ok', now }
  for _, id in ipairs(server.call('ZRANGE', keys.dues(tag), '-inf', now, 'BYSCORE', 'LIMIT', 0, args[1])) do
    found[#found + 1] = schedules.describe(tag, id)
  end
  return found
end
