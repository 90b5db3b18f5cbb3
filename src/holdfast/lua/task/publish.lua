--- Publish what workers know of their tasks: the JSON Schema of input and result.
--- @key tag the global partition
--- @arg tasks name, description in JSON pairs
--- @ok
--- @flags allow-oom
--- @requires lib/keys

local function run(tag, args)
  server.call('HSET', keys.tasks(tag), unpack(args))
  return { 'ok' }
end
