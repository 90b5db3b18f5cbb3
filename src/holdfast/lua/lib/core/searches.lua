--- The filters of a list as arguments of a call, and the sorted sets that contain what they match.
--- @requires lib/core/keys lib/core/listing
local searches = {}

--- A set of executions that may belong to another tenant than the wanted one.
local function related(key, wanted)
  return { { key = key }, exact = listing.is_bare(wanted) and wanted.tenant == '' }
end

local function sources_of(tag, args, wanted)
  local name, value, graph, parent = args[5], args[6], args[10], args[11] or ''
  if graph ~= '' then return related(keys.graph_members(tag, graph), wanted) end
  if parent ~= '' then return related(keys.children(tag, parent), wanted) end
  if name ~= '' then return listing.tagged(tag, wanted, name, value) end
  if wanted.error_type ~= '' then return listing.caused(tag, wanted) end
  return listing.cells(tag, wanted)
end

--- Read the arguments: what is wanted, the sets to look at, and between which births.
function searches.read(tag, args)
  local wanted = {
    tenant = args[1], lane = args[2], kind = args[3], states = listing.set(args[4]),
    kind_prefix = args[12] or '', error_type = args[13] or '', id_prefix = args[14] or '', text = args[15] or '',
  }
  -- The ids that callers choose carry their tenant, and minted ones do not: a tenant that asks by the start of
  -- an id means both.
  local own = wanted.tenant .. '='
  if wanted.tenant ~= '' and wanted.id_prefix:sub(1, #own) == own then
    wanted.minted_prefix = wanted.id_prefix:sub(#own + 1)
  end
  return { wanted = wanted, sources = sources_of(tag, args, wanted), since = args[7], before = args[8] }
end
