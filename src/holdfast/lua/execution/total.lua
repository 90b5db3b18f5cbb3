--- The number of executions that match filters: exact where the sizes of indexes give it, otherwise of as many as
--- one call may look at.
--- @key tag the partition
--- @arg filters as those of hf_execution_list; its limit and order have no effect
--- @ok COUNT, EXACT as 1 or 0
--- @flags no-writes
--- @requires lib/core/listing lib/core/searches

local function run(tag, args)
  local search = searches.read(tag, args)
  local count, exact = listing.total(tag, search.sources, search.wanted, search.since, search.before)
  return { 'ok', count, exact }
end
