--- Frames of an execution after a number, in order, over all attempts.
--- @key tag the partition
--- @arg id @arg after number of a frame, 0 for the beginning @arg limit
--- @ok frames: `NUMBER-MS`, fields as name, value pairs, live or empty; then MORE as 1 or 0
--- @no execution_not_found
--- @flags no-writes @owned execution
--- @requires lib/core/keys lib/core/reply lib/stream/reading

local function run(tag, args)
  local id, after, limit = unpack(args)
  if server.call('EXISTS', keys.record(tag, id)) == 0 then return reply.no('execution_not_found', 'id', id) end
  local rows, more = reading.after(tag, id, after, limit)
  return { 'ok', rows, more }
end
