--- The published declarations of some tasks.
--- @key tag the global partition
--- @arg names of tasks, as they were published
--- @ok description in JSON of each, in order; nil if there is none
--- @flags no-writes
--- @requires lib/core/keys

local function run(tag, args)
  return { 'ok', server.call('HMGET', keys.tasks(tag), unpack(args)) }
end
