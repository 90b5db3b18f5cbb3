--- The tasks that workers have published.
--- @key tag the global partition
--- @ok name, description in JSON pairs
--- @flags no-writes
--- @requires lib/core/keys

local function run(tag, _) return { 'ok', server.call('HGETALL', keys.tasks(tag)) } end
