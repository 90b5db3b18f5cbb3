--- Executions by birth, from the cells that match the filters; tags and causes have indexes of their own.
--- @key tag the partition
--- @arg tenant @arg lane @arg kind @arg states comma separated @arg tag_name @arg tag_value each may be empty
--- @arg since @arg before birth stamps in us, since <= born < before @arg limit
--- @arg graph whose members are wanted, or empty @arg parent whose children are wanted, or absent
--- @arg kind_prefix @arg error_type @arg id_prefix @arg text that a tag has @arg order each may be absent
--- @ok rows: id, fields as name, value pairs, tags; at last the stamp to continue after, or empty
--- @flags no-writes
--- @requires lib/core/listing lib/core/searches

local function run(tag, args)
  local search = searches.read(tag, args)
  local rows, go_on = listing.merge(
    tag, search.sources, search.wanted, args[16] or 'newest', search.since, search.before, tonumber(args[9])
  )
  return { 'ok', rows, go_on or '' }
end
