--- Count the executions of this partition that need revisions.
--- @key tag the partition
--- @arg tenant of the deployment @arg revisions
--- @ok per revision: RUNNING WAITING OLDEST: since when the oldest waits in ms, or empty
--- @flags no-writes
--- @requires lib/deploy/needs

local function run(tag, args)
  local rows = { 'ok' }
  for i = 2, #args do rows[#rows + 1] = needs.count(tag, args[1], args[i]) end
  return rows
end
