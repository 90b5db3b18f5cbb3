--- The operators' settings of a partition.
--- @key tag the partition
--- @ok name, value pairs
--- @flags no-writes
--- @requires lib/core/keys

local function run(tag, _) return { 'ok', server.call('HGETALL', keys.settings(tag)) } end
