--- Keep the archive of a pack whose parts are all there. It never changes again.
--- @key tag the archive, by its digest
--- @arg parts how many @arg size of all together
--- @ok sealed | missing: nothing is kept, write the parts again
--- @flags write
--- @requires lib/core/keys

local function run(tag, args)
  local parts, size = tonumber(args[1]), tonumber(args[2])
  local key = keys.blob(tag)
  if server.call('HEXISTS', key, 'sealed') == 1 then return { 'ok', 'sealed' } end
  for number = 0, parts - 1 do size = size - server.call('HSTRLEN', key, number) end
  if size ~= 0 then return { 'ok', 'missing' } end
  server.call('HSET', key, 'sealed', parts)
  server.call('PERSIST', key)
  return { 'ok', 'sealed' }
end
