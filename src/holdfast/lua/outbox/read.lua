--- The oldest entries of what a partition has to tell others.
--- @key tag the partition
--- @arg limit
--- @ok entries, lines each
--- @flags no-writes
--- @requires lib/limit/outbox

local function run(tag, args) return { 'ok', outbox.read(tag, tonumber(args[1])) } end
