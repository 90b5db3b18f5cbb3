--- Stage some members of a large graph. They are invisible until `create` makes the graph; if that call
--- does not come, they are removed.
--- @key tag the partition
--- @arg id @arg digest of the graph's content @arg ttl_ms how long to wait for the next call
--- @arg items per member two values: its fields in msgpack, its input
--- @ok staged | known the graph is there already
--- @no id_conflict | lane_draining
--- @flags write
--- @requires lib/core/keys lib/core/clock lib/core/reply lib/graph/enrol lib/core/timers

local function run(tag, args)
  local id, digest, ttl_ms = unpack(args, 1, 3)
  local now = clock.now(tag)
  local items = enrol.items(args, 4)
  local found = server.call('HMGET', keys.graph(tag, id), 'state', 'digest')
  if found[1] and found[2] ~= digest then return reply.no('id_conflict', 'id', id) end
  if found[1] and found[1] ~= 'staging' then return { 'ok', 'known' } end
  local refusal = enrol.refusal(tag, id, items)
  if refusal then return refusal end

  local due = now + tonumber(ttl_ms)
  server.call('HSET', keys.graph(tag, id), 'state', 'staging', 'digest', digest, 'due', due)
  enrol.add(tag, id, items, args, 5, now, true)
  timers.set(tag, 'g:' .. id, due, now)
  return { 'ok', 'staged' }
end
