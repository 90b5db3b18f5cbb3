--- Keep what a task wrote since a checkpoint. The first write at a place stays; writes at negative
--- places, such as errors and interrupts, replace each other.
--- @key tag the partition of the thread
--- @arg id TENANT|NAME @arg member NAMESPACE\0CHECKPOINT @arg task @arg ttl_ms or empty: forever
--- @arg writes the rest are places and opaque writes in turn
--- @ok
--- @flags write
--- @requires lib/core/keys lib/core/clock lib/thread/threads

local function run(tag, args)
  local id, member, task, ttl = unpack(args, 1, 4)
  for i = 5, #args, 2 do
    local field = member .. '\0' .. task .. '\0' .. args[i]
    local command = tonumber(args[i]) < 0 and 'HSET' or 'HSETNX'
    server.call(command, keys.thread_writes(tag, id), field, args[i + 1])
    server.call('ZADD', keys.thread_written(tag, id), 0, field)
  end
  threads.note(tag, id, '')
  threads.keep(tag, id, ttl, clock.now(tag))
  return { 'ok' }
end
