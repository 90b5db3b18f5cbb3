--- The facts of `explain` for the executions of a page; those that are gone are left out.
--- @key tag the partition
--- @arg ids
--- @ok NOW, then for each: id, and what `explain` returns after the time
--- @flags no-writes
--- @requires lib/core/clock lib/execution/facts

local function run(tag, args)
  local rows = { 'ok', clock.now(tag) }
  for _, id in ipairs(args) do
    local found = facts.of(tag, id)
    if found then rows[#rows + 1] = { id, unpack(found) } end
  end
  return rows
end
