--- Deployments of an env that changed after a change, in the order of their last changes.
--- @key tag the global partition
--- @arg env @arg after the number of a change, 0 for all @arg limit
--- @ok LAST change of the env, then per deployment: fields, split in msgpack or empty, its revisions
--- @flags no-writes
--- @requires lib/core/keys lib/deploy/deployments

local function run(tag, args)
  local env, after, limit = unpack(args)
  local rows = { 'ok', tonumber(server.call('HGET', keys.env(tag, env), 'changes') or 0) }
  local changed = server.call(
    'ZRANGE', keys.deployment_changes(tag, env), '(' .. after, '+inf', 'BYSCORE', 'LIMIT', 0, limit
  )
  for _, entry in ipairs(changed) do rows[#rows + 1] = deployments.row(tag, env .. '|' .. entry) end
  return rows
end
