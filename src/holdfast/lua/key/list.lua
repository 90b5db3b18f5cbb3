--- All API keys, including those that have ended recently.
--- @key tag the global partition
--- @ok id, fields as name, value pairs of each
--- @flags no-writes
--- @requires lib/core/keys

local function run(tag, _)
  local found = { 'ok' }
  for _, id in ipairs(server.call('SMEMBERS', keys.accesses(tag))) do
    found[#found + 1] = { id, server.call('HGETALL', keys.access(tag, id)) }
  end
  return found
end
