--- Schedules of a partition, by id.
--- @key tag the partition
--- @arg after an id, or empty @arg limit
--- @ok rows: id, fields as name, value pairs, plan, number running, number lined up
--- @flags no-writes
--- @requires lib/keys lib/schedules

local function run(tag, args)
  local after, limit = unpack(args)
  local from = after == '' and '-' or '(' .. after
  local rows = { 'ok' }
  for _, id in ipairs(server.call('ZRANGE', keys.schedules(tag), from, '+', 'BYLEX', 'LIMIT', 0, limit)) do
    rows[#rows + 1] = schedules.describe(tag, id)
  end
  return rows
end
