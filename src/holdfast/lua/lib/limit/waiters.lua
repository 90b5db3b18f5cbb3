--- Executions that wait for a limit, first come first served, each since the epoch of its grant.
--- @requires lib/core/keys
local waiters = {}

function waiters.count(tag, limit) return server.call('ZCARD', keys.waiters(tag, limit)) end

--- Queue an execution; one that is queued keeps its place.
function waiters.add(tag, limit, execution, epoch)
  local since = server.call('HGET', keys.waiting(tag, limit), execution)
  if not since or tonumber(since) < tonumber(epoch) then
    server.call('HSET', keys.waiting(tag, limit), execution, epoch)
  end
  local key = keys.waiters(tag, limit)
  if server.call('ZSCORE', key, execution) then return end
  server.call('ZADD', key, server.call('HINCRBY', keys.meta(tag), 'queued', 1), execution)
end

--- Forget an execution, unless it waits since a later grant than that of `epoch`. Returns whether
--- it is forgotten.
function waiters.drop(tag, limit, execution, epoch)
  local since = server.call('HGET', keys.waiting(tag, limit), execution)
  if not since or tonumber(since) > tonumber(epoch) then return false end
  server.call('HDEL', keys.waiting(tag, limit), execution)
  server.call('ZREM', keys.waiters(tag, limit), execution)
  return true
end

--- Take the first ones out of the queue, but remember since which epoch they waited until `forget`.
function waiters.call(tag, limit, count)
  local popped, found = server.call('ZPOPMIN', keys.waiters(tag, limit), count), {}
  for i = 1, #popped, 2 do found[#found + 1] = popped[i] end
  return found
end

function waiters.forget(tag, limit, execution) server.call('HDEL', keys.waiting(tag, limit), execution) end

--- Take the first ones, and forget them.
function waiters.pop(tag, limit, count)
  local found = waiters.call(tag, limit, count)
  if #found > 0 then server.call('HDEL', keys.waiting(tag, limit), unpack(found)) end
  return found
end
