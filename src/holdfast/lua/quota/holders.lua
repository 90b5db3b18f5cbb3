--- Executions that hold a slot of a quota; some of them, if there are many.
--- @key tag the partition of quotas
--- @arg name the id, or ID#VALUE for one value of a tag @arg limit
--- @ok ids
--- @flags no-writes
--- @requires lib/core/keys

local function run(tag, args)
  return { 'ok', server.call('HRANDFIELD', keys.holders(tag, args[1]), tonumber(args[2])) }
end
