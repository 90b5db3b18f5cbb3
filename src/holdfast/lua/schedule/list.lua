--- Schedules of a partition, by id.
--- @key tag the partition
--- @arg after an id, or empty @arg limit
--- @ok MORE as 1 or 0, rows: id, fields as name, value pairs, plan, number running, number lined up
--- @flags no-writes
--- @requires lib/core/keys lib/admin/schedules

-- Plans may be large; a reply ends with the one that reaches this.
local MOST_BYTES = 1048576

local function run(tag, args)
  local after, limit = unpack(args)
  local from = after == '' and '-' or '(' .. after
  local ids = server.call('ZRANGE', keys.schedules(tag), from, '+', 'BYLEX', 'LIMIT', 0, limit + 1)
  local rows, bytes = {}, 0
  for i = 1, math.min(#ids, limit) do
    rows[i] = schedules.describe(tag, ids[i])
    bytes = bytes + #rows[i][3]
    if bytes >= MOST_BYTES then break end
  end
  return { 'ok', #ids > #rows and 1 or 0, rows }
end
