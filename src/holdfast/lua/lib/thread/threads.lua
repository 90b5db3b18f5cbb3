--- Threads of checkpoints that another library makes, such as LangGraph. A thread is called
--- TENANT|NAME. A checkpoint is a member of its index, NAMESPACE\0ID, so the order of members is
--- the order of checkpoints. Payloads are opaque. Values are shared by the checkpoints that name
--- them in their marks, and go with the last of these.
--- @requires lib/core/keys lib/core/timers
local threads = {}

local function owner(id) return id:match('^([^|]*)|(.*)$') end

--- Keep a thread for this long after now; an empty time means forever.
function threads.keep(tag, id, ttl, now)
  local member = 't:' .. id
  if ttl == '' then
    server.call('ZREM', keys.timers(tag), member)
  else
    timers.set(tag, member, now + tonumber(ttl), now)
  end
end

--- Note that a thread exists, and which run changed it.
function threads.note(tag, id, run)
  local tenant, name = owner(id)
  server.call('ZADD', keys.threads(tag, tenant), 0, name)
  if run == '' then return end
  server.call('SADD', keys.thread_runs(tag, id), run)
  server.call('SADD', keys.run_threads(tag, tenant, run), name)
end

local function leave_run(tag, id, run)
  local tenant, name = owner(id)
  server.call('SREM', keys.thread_runs(tag, id), run)
  server.call('SREM', keys.run_threads(tag, tenant, run), name)
end

--- Remove a thread with all it has; returns how much work that was.
function threads.remove(tag, id)
  local tenant, name = owner(id)
  local runs = server.call('SMEMBERS', keys.thread_runs(tag, id))
  for _, run in ipairs(runs) do leave_run(tag, id, run) end
  server.call(
    'UNLINK', keys.thread(tag, id), keys.thread_marks(tag, id), keys.checkpoints(tag, id),
    keys.thread_values(tag, id), keys.thread_written(tag, id), keys.thread_writes(tag, id)
  )
  server.call('ZREM', keys.threads(tag, tenant), name)
  server.call('ZREM', keys.timers(tag), 't:' .. id)
  return #runs + 1
end

--- The fields of the writes of a checkpoint.
function threads.written(tag, id, member)
  return server.call(
    'ZRANGE', keys.thread_written(tag, id), '[' .. member .. '\0', '(' .. member .. '\1', 'BYLEX'
  )
end

-- Remove values that no checkpoint names, and runs that made none.
local function sweep(tag, id)
  local named, made = {}, {}
  for _, packed in ipairs(server.call('HVALS', keys.thread_marks(tag, id))) do
    local mark = cmsgpack.unpack(packed)
    made[mark[1]] = true
    for i = 2, #mark do named[mark[i]] = true end
  end
  for _, field in ipairs(server.call('HKEYS', keys.thread_values(tag, id))) do
    if not named[field] then server.call('HDEL', keys.thread_values(tag, id), field) end
  end
  for _, run in ipairs(server.call('SMEMBERS', keys.thread_runs(tag, id))) do
    if not made[run] then leave_run(tag, id, run) end
  end
end

--- Remove checkpoints of a thread, and the thread with its last one; returns how many there were.
function threads.drop(tag, id, members)
  local dropped = 0
  for _, member in ipairs(members) do
    dropped = dropped + server.call('ZREM', keys.thread(tag, id), member)
    server.call('HDEL', keys.thread_marks(tag, id), member)
    server.call('HDEL', keys.checkpoints(tag, id), member)
    for _, field in ipairs(threads.written(tag, id, member)) do
      server.call('ZREM', keys.thread_written(tag, id), field)
      server.call('HDEL', keys.thread_writes(tag, id), field)
    end
  end
  if dropped == 0 then return 0 end
  if server.call('EXISTS', keys.thread(tag, id)) == 0 then
    threads.remove(tag, id)
  else
    sweep(tag, id)
  end
  return dropped
end

