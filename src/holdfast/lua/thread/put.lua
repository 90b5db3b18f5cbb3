--- Write a checkpoint of a thread with the values that are new in it. The thread is kept for its
--- time from now on.
--- @key tag the partition of the thread
--- @arg id TENANT|NAME @arg member NAMESPACE\0CHECKPOINT @arg run or empty
--- @arg ttl_ms or empty: forever @arg checkpoint opaque
--- @arg named how many names of values follow: those that the checkpoint consists of
--- @arg names then names and opaque values in turn: those that are new
--- @ok
--- @flags write
--- @requires lib/core/keys lib/core/clock lib/thread/threads

local function run(tag, args)
  local id, member, made_by, ttl, checkpoint, named = unpack(args, 1, 6)
  local first = 7 + tonumber(named)
  local mark = { made_by }
  for i = 7, first - 1 do mark[#mark + 1] = args[i] end
  for i = first, #args, 2 do
    server.call('HSET', keys.thread_values(tag, id), args[i], args[i + 1])
  end
  server.call('ZADD', keys.thread(tag, id), 0, member)
  server.call('HSET', keys.thread_marks(tag, id), member, cmsgpack.pack(mark))
  server.call('HSET', keys.checkpoints(tag, id), member, checkpoint)
  threads.note(tag, id, made_by)
  threads.keep(tag, id, ttl, clock.now(tag))
  return { 'ok' }
end
