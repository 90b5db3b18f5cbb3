--- Memories of agents: items of a tenant under NAMESPACE\0KEY, where the labels of a namespace are
--- joined by dots. Items whose time is over are not returned, and removed by a timer.
--- @requires lib/core/keys lib/core/timers
local memories = {}

local SWEPT = 100

local function space_of(field) return field:match('^(.-)%z') end

--- The item of a field, or nil if there is none or its time is over.
function memories.find(tag, tenant, field, now)
  local packed = server.call('HGET', keys.memories(tag, tenant), field)
  local item = packed and cmsgpack.unpack(packed)
  if item and item.until_ms and item.until_ms <= now then return nil end
  return item
end

-- Let the timer ring when the first item ends.
local function arm(tag, tenant, now)
  local first = server.call('ZRANGE', keys.memory_due(tag, tenant), 0, 0, 'WITHSCORES')[2]
  if first then
    timers.set(tag, 'm:' .. tenant, tonumber(first), now)
  else
    server.call('ZREM', keys.timers(tag), 'm:' .. tenant)
  end
end

--- Write an item in place of the one before.
function memories.write(tag, tenant, field, item, now)
  if server.call('HSET', keys.memories(tag, tenant), field, cmsgpack.pack(item)) == 1 then
    server.call('ZADD', keys.memory_index(tag, tenant), 0, field)
    server.call('HINCRBY', keys.memory_spaces(tag, tenant), space_of(field), 1)
  end
  local due = keys.memory_due(tag, tenant)
  if item.until_ms then
    server.call('ZADD', due, item.until_ms, field)
  elseif server.call('ZREM', due, field) == 0 then
    return
  end
  arm(tag, tenant, now)
end

local function erase(tag, tenant, field)
  if server.call('HDEL', keys.memories(tag, tenant), field) == 0 then return false end
  server.call('ZREM', keys.memory_index(tag, tenant), field)
  local spaces, space = keys.memory_spaces(tag, tenant), space_of(field)
  if server.call('HINCRBY', spaces, space, -1) == 0 then server.call('HDEL', spaces, space) end
  return true
end

--- Remove an item; returns whether there was one.
function memories.remove(tag, tenant, field, now)
  local was = erase(tag, tenant, field)
  if server.call('ZREM', keys.memory_due(tag, tenant), field) == 1 then arm(tag, tenant, now) end
  return was
end

--- Remove items whose time is over, some of them; returns how many.
function memories.expire(tag, tenant, now)
  local due = keys.memory_due(tag, tenant)
  local fields = server.call('ZRANGE', due, '-inf', now, 'BYSCORE', 'LIMIT', 0, SWEPT)
  for _, field in ipairs(fields) do
    erase(tag, tenant, field)
    server.call('ZREM', due, field)
  end
  arm(tag, tenant, now)
  return #fields + 1
end

