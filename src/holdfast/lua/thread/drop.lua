--- Remove checkpoints of a thread, with their writes and the values that no other one needs. A
--- thread without checkpoints is removed.
--- @key tag the partition of the thread
--- @arg id TENANT|NAME @arg members the rest are NAMESPACE\0CHECKPOINT
--- @ok DROPPED
--- @flags allow-oom
--- @requires lib/thread/threads

local function run(tag, args)
  local id, members = args[1], {}
  for i = 2, #args do members[#members + 1] = args[i] end
  return { 'ok', threads.drop(tag, id, members) }
end
