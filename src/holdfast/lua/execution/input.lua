--- The input of an execution, as it was submitted.
--- @key tag the partition
--- @arg id
--- @ok INPUT
--- @no execution_not_found
--- @flags no-writes @owned execution
--- @requires lib/core/record lib/core/reply

local function run(tag, args)
  local id = args[1]
  local rec = record.read(tag, id)
  if not rec then return reply.no('execution_not_found', 'id', id) end
  return { 'ok', record.input(tag, id, rec) }
end
