--- The log of an execution, oldest first.
--- @key tag the partition
--- @arg id
--- @ok BORN, entries in msgpack
--- @no execution_not_found
--- @flags no-writes @owned execution
--- @requires lib/core/record lib/core/log lib/core/reply

local function run(tag, args)
  local id = args[1]
  local rec = record.read(tag, id)
  if not rec then return reply.no('execution_not_found', 'id', id) end
  return { 'ok', rec.born, log.all(tag, id, rec) }
end
