--- Whether an execution that asked for more of a budget was denied it, at this limit.
--- @key tag the partition
--- @arg id @arg budget @arg dimension @arg limit
--- @ok 1 or 0
--- @no execution_not_found
--- @flags no-writes @owned execution
--- @requires lib/core/record lib/core/reply lib/waitpoint/asking

local function run(tag, args)
  local id, budget_id, dimension, limit = unpack(args)
  local rec = record.read(tag, id)
  if not rec then return reply.no('execution_not_found', 'id', id) end
  return { 'ok', asking.is_denied(tag, id, rec, budget_id, dimension, tonumber(limit)) and 1 or 0 }
end
