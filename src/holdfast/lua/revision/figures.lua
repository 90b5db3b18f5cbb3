--- The turns that ended in this partition on revisions, since a time; at most of the last hour.
--- @key tag the partition
--- @arg tenant @arg since in ms, the interval of 10 s that contains it counts @arg revisions
--- @ok per revision: FIELD, COUNT pairs, as lib/deploy/figures.lua has them
--- @flags no-writes
--- @requires lib/core/clock lib/deploy/figures

local function run(tag, args)
  local now, rows = clock.now(tag), { 'ok' }
  for i = 3, #args do rows[i - 1] = figures.read(tag, args[1], args[i], tonumber(args[2]), now) end
  return rows
end
