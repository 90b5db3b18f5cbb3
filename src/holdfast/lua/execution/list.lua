--- Executions, newest first, from the cells that match the filters; a tag has its own index.
--- @key tag the partition
--- @arg tenant @arg lane @arg kind @arg state @arg tag_name @arg tag_value each may be empty
--- @arg since @arg before birth stamps in us, since <= born < before @arg limit
--- @arg graph whose members are wanted, or empty @arg parent whose children are wanted, or absent
--- @ok rows: id, fields as name, value pairs, tags; at last the stamp to continue before, or empty
--- @flags no-writes
--- @requires lib/core/keys lib/core/listing

local function run(tag, args)
  local tenant, lane, kind, state, tag_name, tag_value, since, before, limit, graph, parent = unpack(args)
  local wanted = { tenant = tenant, lane = lane, kind = kind, state = state }
  local sources
  if graph ~= '' then
    sources = { { key = keys.graph_members(tag, graph) } }
  elseif parent and parent ~= '' then
    sources = { { key = keys.children(tag, parent) } }
  elseif tag_name ~= '' then
    sources = listing.tagged(tag, tenant, tag_name, tag_value)
  else
    sources = listing.cells(tag, wanted)
  end
  local rows, go_on = listing.merge(tag, sources, wanted, since, before, tonumber(limit))
  return { 'ok', rows, go_on or '' }
end
