--- Allow a revision to start executions in this partition again.
--- @key tag the partition
--- @arg tenant of the deployment @arg revision
--- @ok
--- @flags allow-oom
--- @requires lib/core/keys

local function run(tag, args)
  server.call('DEL', keys.revision_closed(tag, args[1], args[2]))
  return { 'ok' }
end
