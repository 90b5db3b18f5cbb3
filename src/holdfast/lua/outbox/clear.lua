--- Take out entries that have arrived.
--- @key tag the partition
--- @arg entries
--- @ok LEFT
--- @flags allow-oom
--- @requires lib/core/keys

local function run(tag, args)
  local key = keys.outbox(tag)
  if #args > 0 then server.call('ZREM', key, unpack(args)) end
  return { 'ok', server.call('ZCARD', key) }
end
