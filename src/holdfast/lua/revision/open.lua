--- Allow a revision to start executions in this partition again, unless it was closed in a later version.
--- @key tag the partition
--- @arg tenant of the deployment @arg revision
--- @arg stamp `STAGED VERSION` of the revision as the caller saw it; older callers send none
--- @ok
--- @flags allow-oom
--- @requires lib/deploy/needs

local function run(tag, args)
  needs.open(tag, unpack(args))
  return { 'ok' }
end
