--- Deployments of an env in the order of tenant and id, each with its split and its revisions.
--- @key tag the global partition
--- @arg env @arg tenant or empty @arg after `TENANT|ID` to continue after, or empty @arg limit
--- @ok per deployment: fields, the split in msgpack or empty, the fields of each revision
--- @flags no-writes
--- @requires lib/core/keys lib/core/catalog lib/deploy/deployments

local function run(tag, args)
  local env, tenant, after, limit = unpack(args)
  local rows = { 'ok' }
  for _, entry in ipairs(catalog.page(keys.deployments(tag, env), tenant, after, tonumber(limit))) do
    rows[#rows + 1] = deployments.row(tag, env .. '|' .. entry)
  end
  return rows
end
