--- The tenant that an execution belongs to, for checks before a call is passed on.
--- @key tag the partition
--- @arg id
--- @ok TENANT
--- @no execution_not_found
--- @flags no-writes @owned execution
--- @requires lib/core/record lib/core/reply

local function run(tag, args)
  local tenant = record.get(tag, args[1], 'tenant')[1]
  if not tenant then return reply.no('execution_not_found', 'id', args[1]) end
  return { 'ok', tenant }
end
