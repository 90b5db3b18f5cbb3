--- Store the facts that never change, once: the number of partitions and the format of the data. A
--- process of another format learns the one of this library, and nothing is stored for it.
--- @key tag the global partition
--- @arg partitions 0 to take what is stored @arg default what to store if nothing is @arg format
--- @ok PARTITIONS FORMAT as stored
--- @flags allow-oom
--- @requires lib/core/keys

--- The format of what these functions write.
local FORMAT = '2'

local function run(tag, args)
  local partitions, default, format = unpack(args)
  local key = keys.meta(tag)
  if server.call('HEXISTS', key, 'partitions') == 0 then
    if format ~= FORMAT then return { 'ok', default, FORMAT } end
    server.call('HSET', key, 'partitions', partitions == '0' and default or partitions, 'format', format)
  end
  local stored = server.call('HMGET', key, 'partitions', 'format')
  return { 'ok', stored[1], stored[2] }
end
