--- Close a waitpoint: its token is no longer valid. An execution that waits for it continues to wait.
--- @key tag the partition
--- @arg id of the execution @arg number of the waitpoint
--- @ok closed WHY
--- @no waitpoint_not_found
--- @flags allow-oom @owned execution
--- @requires lib/core/clock lib/core/record lib/core/reply lib/waitpoint/waitpoints

local function run(tag, args)
  local id, number = args[1], tonumber(args[2])
  local now = clock.now(tag)
  local rec = record.read(tag, id)
  local point = rec and waitpoints.read(tag, id, number)
  if not point then return reply.no('waitpoint_not_found', 'id', waitpoints.id(id, number)) end
  if point.state ~= 'closed' then waitpoints.close(tag, id, rec, number, point, now, 'revoked') end
  return { 'ok', 'closed', point.why }
end
