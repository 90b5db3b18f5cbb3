--- Remove the checkpoints that a run made, in all threads of this partition.
--- @key tag the partition
--- @arg tenant @arg run
--- @ok DROPPED
--- @flags allow-oom
--- @requires lib/core/keys lib/thread/threads

local function made_by(tag, id, run_id)
  local marks, members = server.call('HGETALL', keys.thread_marks(tag, id)), {}
  for i = 1, #marks, 2 do
    if cmsgpack.unpack(marks[i + 1])[1] == run_id then members[#members + 1] = marks[i] end
  end
  return members
end

local function run(tag, args)
  local tenant, run_id = unpack(args)
  local dropped = 0
  for _, name in ipairs(server.call('SMEMBERS', keys.run_threads(tag, tenant, run_id))) do
    local id = tenant .. '|' .. name
    dropped = dropped + threads.drop(tag, id, made_by(tag, id, run_id))
  end
  return { 'ok', dropped }
end
