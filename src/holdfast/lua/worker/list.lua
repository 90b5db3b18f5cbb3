--- Some of the workers that are alive; one that comes or goes meanwhile may be missing, or come twice.
--- @key tag the global partition
--- @arg cursor 0, or NEXT of the last answer; absent, all are returned at once and without NEXT
--- @ok NEXT or 0 at the end, then instance, fields as name, value pairs of each
--- @flags no-writes
--- @requires lib/core/keys lib/core/clock

-- The size of an answer: a store with very many workers answers others in between.
local SOME = 200

local function run(tag, args)
  local now = clock.now(tag)
  local alive, instances = { 'ok' }, nil
  if args[1] then
    local found = server.call('SSCAN', keys.workers(tag), args[1], 'COUNT', SOME)
    alive[2], instances = found[1], found[2]
  else
    instances = server.call('SMEMBERS', keys.workers(tag))
  end
  for _, instance in ipairs(instances) do
    local fields = server.call('HGETALL', keys.worker(tag, instance))
    for i = 1, #fields, 2 do
      if fields[i] == 'expires_at' and tonumber(fields[i + 1]) > now then
        alive[#alive + 1] = { instance, fields }
      end
    end
  end
  return alive
end
