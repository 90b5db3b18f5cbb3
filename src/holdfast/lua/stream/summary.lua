--- The document into which an execution's summary frames are merged.
--- @key tag the partition
--- @arg id
--- @ok VERSION DOCUMENT: 0 and {} at first
--- @no execution_not_found
--- @flags no-writes @owned execution
--- @requires lib/core/keys lib/core/reply

local function run(tag, args)
  local id = args[1]
  if server.call('EXISTS', keys.record(tag, id)) == 0 then return reply.no('execution_not_found', 'id', id) end
  local version = tonumber(server.call('HGET', keys.stream(tag, id), 'version') or 0)
  return { 'ok', version, server.call('GET', keys.document(tag, id)) or '{}' }
end
