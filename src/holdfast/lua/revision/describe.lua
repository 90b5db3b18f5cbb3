--- A revision of a tenant, by its id alone: it is unique in the store.
--- @key tag the global partition
--- @arg tenant @arg revision
--- @ok its fields
--- @no revision_not_found
--- @flags no-writes
--- @requires lib/core/keys lib/core/reply

local function run(tag, args)
  local tenant, id = args[1], args[2]
  local name = server.call('HGET', keys.revision(tag, id), 'deployment')
  if not name or name:match('^[^|]+|([^|]+)|') ~= tenant then return reply.no('revision_not_found', 'id', id) end
  return { 'ok', server.call('HGETALL', keys.revision(tag, id)) }
end
