--- The step journal of an execution.
--- @key tag the partition
--- @arg id
--- @ok name, value pairs
--- @no execution_not_found
--- @flags no-writes @owned execution
--- @requires lib/core/keys lib/core/record lib/core/reply lib/execution/steps

local function run(tag, args)
  local id = args[1]
  if server.call('EXISTS', keys.record(tag, id)) == 0 then return reply.no('execution_not_found', 'id', id) end
  return { 'ok', steps.all(tag, id, record.read_brief(tag, id) or {}) }
end
