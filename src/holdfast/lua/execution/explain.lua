--- The facts behind "why is it not running": the execution, its lane, its place in the queue.
--- @key tag the partition
--- @arg id
--- @ok NOW, fields as name, value pairs, lane setting, ahead of it: kind, count, or empty,
--- @ok upstreams awaited: key, state
--- @no execution_not_found
--- @flags no-writes @owned execution
--- @requires lib/core/clock lib/core/reply lib/execution/facts

local function run(tag, args)
  local found = facts.of(tag, args[1])
  if not found then return reply.no('execution_not_found', 'id', args[1]) end
  return { 'ok', clock.now(tag), unpack(found) }
end
