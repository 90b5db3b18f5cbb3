--- Start nothing more on a revision in this partition, and count what still needs it. Once a closed
--- revision has no needs here it has none for good: only executions that need it start others on it. One that
--- was opened since the version that the caller saw stays open.
--- @key tag the partition
--- @arg tenant of the deployment @arg revision
--- @arg stamp `STAGED VERSION` of the revision as the caller saw it; older callers send none
--- @ok RUNNING WAITING OLDEST: since when the oldest waits in ms, or empty
--- @flags allow-oom
--- @requires lib/deploy/needs

local function run(tag, args)
  needs.close(tag, unpack(args))
  return { 'ok', unpack(needs.count(tag, args[1], args[2])) }
end
