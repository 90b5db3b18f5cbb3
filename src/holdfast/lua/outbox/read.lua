--- The oldest entries in the outbox of a partition.
--- @key tag the partition
--- @arg limit
--- @ok entries, lines each
--- @flags no-writes
--- @requires lib/limit/outbox

local function run(tag, args) return { 'ok', outbox.read(tag, tonumber(args[1])) } end
