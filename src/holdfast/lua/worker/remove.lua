--- Take a worker off the registry, as it does itself when it stops.
--- @key tag the global partition
--- @arg instance
--- @ok REMOVED as 1 or 0
--- @flags allow-oom
--- @requires lib/workers

local function run(tag, args) return { 'ok', workers.forget(tag, args[1]) } end
