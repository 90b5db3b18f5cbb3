--- The envs that were put, with what they trust.
--- @key tag the global partition
--- @ok per env: name, fields
--- @flags no-writes
--- @requires lib/core/keys

local function run(tag, _)
  local rows = { 'ok' }
  for _, env in ipairs(server.call('SMEMBERS', keys.envs(tag))) do
    rows[#rows + 1] = { env, server.call('HGETALL', keys.env(tag, env)) }
  end
  return rows
end
