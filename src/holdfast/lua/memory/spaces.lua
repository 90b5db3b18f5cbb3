--- Namespaces of a tenant's memory in this partition that have items.
--- @key tag the partition
--- @arg tenant
--- @ok a list of namespaces
--- @flags no-writes
--- @requires lib/core/keys

local function run(tag, args) return { 'ok', server.call('HKEYS', keys.memory_spaces(tag, args[1])) } end
