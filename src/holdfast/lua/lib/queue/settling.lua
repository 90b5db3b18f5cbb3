--- Settling deliveries by their handles. A settled handle is remembered for the lock time, at least
--- for 30 s, with the verb that settled it, so that repeating a call after a lost reply is harmless.
--- @requires lib/core/keys lib/queue/queue lib/queue/messages lib/queue/endings
--- @requires lib/queue/deliveries lib/queue/outbox lib/core/reply
local queue_settling = {}

-- Longer than callers repeat a call whose reply they lost, however short the lock is.
local MEMORY_MS = 30000

--- Begin a call that settles. `dead` holds the handles that it has settled itself.
function queue_settling.open(tag)
  local q, refusal = queue.open(tag)
  if q then q.dead = {} end
  return q, refusal
end

--- The delivery of a handle: group, id, try; nil if it is settled, superseded or foreign. One whose
--- lock has expired comes back first.
function queue_settling.find(q, handle)
  local where = server.call('HGET', keys.handles(q.tag), handle)
  if not where or q.dead[handle] then return nil end
  local group, id = where:match('^([^|]*)|(.*)$')
  local try = queue_deliveries.try(q, group, id)
  if not try or try.handle ~= handle then return nil end
  if not try.late and try.due <= q.now then
    if not queue_deliveries.expire(q, group, id, try) then
      q.dead[handle] = true
      return nil
    end
  end
  return group, id, try
end

--- The refusal of a handle that holds nothing.
function queue_settling.refuse(q, handle)
  local code = queue_deliveries.is_own(q, handle) and 'stale_delivery' or 'unknown_delivery'
  if code == 'stale_delivery' then return reply.no('stale_delivery', 'queue', queue.name(q.tag)) end
  return reply.no('unknown_delivery', 'queue', queue.name(q.tag))
end

local function remember(q, verb, handle)
  q.dead[handle] = verb
  local until_ms = q.now + math.max(q.lock, MEMORY_MS)
  if not q.settling then queue.arm(q, 'settled', until_ms) end
  q.settling = true
  queue.collect(q, 'ZADD', keys.settled(q.tag), until_ms, verb .. '|' .. handle)
end

--- Whether this very verb has settled a handle, not long ago.
local function was_settled(q, verb, handle)
  if q.dead[handle] then return q.dead[handle] == verb end
  local until_ms = server.call('ZSCORE', keys.settled(q.tag), verb .. '|' .. handle)
  return until_ms and tonumber(until_ms) > q.now
end

--- How long a message waits for its next attempt, by the queue's list.
local function backoff(q, attempts)
  if not q.backoff then return 0 end
  local last = 0
  for ms in q.backoff:gmatch('%d+') do
    last, attempts = tonumber(ms), attempts - 1
    if attempts == 0 then break end
  end
  return last
end

local function ack(q, group, id, try)
  if not try.late then queue_deliveries.land(q, group, id, try) end
  local rec = try.bare and {} or queue_messages.read_one(q, id)
  queue_endings.retire(q, group, id, rec, try, 'acked')
end

--- End a delivery without success; its handle is dead from now on.
local function put_down(q, group, id, try)
  queue_deliveries.land(q, group, id, try)
  queue.collect(q, 'HDEL', keys.handles(q.tag), try.handle)
  try.handle = nil
end

local function nack(q, group, id, try, delay, reason)
  put_down(q, group, id, try)
  local wait = tonumber(delay) or backoff(q, try.n)
  queue_deliveries.come_back(q, group, id, try, reason ~= '' and reason or 'nacked', wait)
end

local function release(q, group, id, try)
  put_down(q, group, id, try)
  queue_deliveries.come_back(q, group, id, try, 'released', 0)
end

local function reject(q, group, id, try, _, reason)
  put_down(q, group, id, try)
  local rec = queue_messages.read_one(q, id)
  queue_endings.give_up(q, group, id, rec, try, reason ~= '' and reason or 'rejected')
end

local VERBS = { ack = ack, nack = nack, release = release, reject = reject }

--- Settle one delivery: ok, or repeated, or a refusal.
function queue_settling.settle(q, verb, handle, delay, reason)
  local group, id, try = queue_settling.find(q, handle)
  if not group or (try.late and verb ~= 'ack') then
    if was_settled(q, verb, handle) then
      -- The lost reply may have said that something is owed.
      q.unsent = q.unsent or queue_outbox.size(q) > 0
      return { 'repeated' }
    end
    return queue_settling.refuse(q, handle)
  end
  VERBS[verb](q, group, id, try, delay, reason)
  remember(q, verb, handle)
  return { 'ok' }
end
