--- What foretells when nothing in this partition needs a revision any more.
--- TIMED is how many of the waits time ends, of at most 1,000 that are looked at, LAST when the last of them
--- ends, and LEFT how many executions stopped needing it in each minute of the last hour.
--- @key tag the partition
--- @arg tenant of the deployment @arg revision
--- @ok NOW RUNNING WAITING TIMED LAST LEFT: times in ms, LAST may be empty, LEFT has MINUTE, COUNT pairs
--- @flags no-writes
--- @requires lib/core/clock lib/deploy/departures lib/deploy/needs

local function run(tag, args)
  local tenant, revision = args[1], args[2]
  local now = clock.now(tag)
  local running, waiting = unpack(needs.count(tag, tenant, revision))
  local timed, last = needs.ends(tag, tenant, revision)
  return { 'ok', now, running, waiting, timed, last or '', departures.read(tag, tenant, revision, now) }
end
