--- Remove a thread with all its checkpoints, values and writes.
--- @key tag the partition of the thread
--- @arg id TENANT|NAME
--- @ok
--- @flags allow-oom
--- @requires lib/thread/threads

local function run(tag, args)
  threads.remove(tag, args[1])
  return { 'ok' }
end
