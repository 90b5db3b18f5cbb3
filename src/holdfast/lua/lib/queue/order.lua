--- What a group hands out next. `open` holds what may be handed out, by rank. Of the messages with
--- one ordering key only the first may be in `open`, and none while one of them is in flight or
--- waits for its retry (the key is busy); the others are `blocked`. `lines` holds all messages with
--- keys, one line after the other, each in the order of ranks.
--- @requires lib/core/keys
local queue_order = {}

-- Ranks may be negative; written so, they sort as text.
local SHIFT = 1e15

local function in_line(id, rec)
  return rec.key .. '\0' .. string.format('%016.0f', rec.rank + SHIFT) .. '\0' .. id
end

--- Id and rank of the first message of a line.
local function head_of(q, group, key)
  local first, last = '[' .. key .. '\0', '(' .. key .. '\1'
  local head = server.call('ZRANGE', keys.lines(q.tag, group), first, last, 'BYLEX', 'LIMIT', 0, 1)[1]
  if not head then return nil end
  local rank, id = head:match('^[^%z]*%z(%d+)%z(.*)$')
  return id, tonumber(rank) - SHIFT
end

--- Put the first of a line into `open`, unless its key is busy.
local function promote(q, group, key)
  if server.call('HEXISTS', keys.busy(q.tag, group), key) == 1 then return end
  local id, rank = head_of(q, group, key)
  if id and server.call('ZREM', keys.blocked(q.tag, group), id) == 1 then
    server.call('ZADD', keys.open(q.tag, group), rank, id)
    q.ready = true
  end
end

local function enter_line(q, group, id, rec)
  local first, rank = head_of(q, group, rec.key)
  server.call('ZADD', keys.lines(q.tag, group), 0, in_line(id, rec))
  server.call('ZADD', keys.blocked(q.tag, group), rec.rank, id)
  -- One that comes to stand before the first takes its place.
  if first and rec.rank < rank and server.call('ZREM', keys.open(q.tag, group), first) == 1 then
    server.call('ZADD', keys.blocked(q.tag, group), rank, first)
  end
  promote(q, group, rec.key)
end

--- Offer messages to a group; `many` is a list of { id, rec }.
function queue_order.enter(q, group, many)
  local scored = {}
  for _, one in ipairs(many) do
    local id, rec = one[1], one[2]
    if rec.key then
      enter_line(q, group, id, rec)
    else
      scored[#scored + 1] = rec.rank
      scored[#scored + 1] = id
    end
  end
  if #scored == 0 then return end
  local key = keys.open(q.tag, group)
  local added = server.call('ZADD', key, unpack(scored))
  -- Waiting readers have found nothing, so only the first message has to wake them.
  if server.call('ZCARD', key) == added then q.ready = true end
end

--- Take up to `count` messages from an end; ids.
function queue_order.take(q, group, side, count)
  local verb = side == 'right' and 'ZPOPMAX' or 'ZPOPMIN'
  local popped = server.call(verb, keys.open(q.tag, group), count)
  local ids = {}
  for i = 1, #popped, 2 do ids[#ids + 1] = popped[i] end
  return ids
end

--- The key of a message that was taken is busy from now on.
function queue_order.seize(q, group, id, rec)
  if rec.key then server.call('HSET', keys.busy(q.tag, group), rec.key, id) end
end

--- Offer a message again that was in flight or waited for its retry.
function queue_order.give_back(q, group, id, rec)
  if rec.key then
    server.call('HDEL', keys.busy(q.tag, group), rec.key)
    server.call('ZADD', keys.blocked(q.tag, group), rec.rank, id)
    promote(q, group, rec.key)
  else
    server.call('ZADD', keys.open(q.tag, group), rec.rank, id)
    q.ready = true
  end
end

--- Remove a message, wherever it is; `landed` says that it was in flight.
function queue_order.leave(q, group, id, rec, landed)
  if not landed then server.call('ZREM', keys.open(q.tag, group), id) end
  if not rec.key then return end
  server.call('ZREM', keys.blocked(q.tag, group), id)
  server.call('ZREM', keys.lines(q.tag, group), in_line(id, rec))
  local busy = keys.busy(q.tag, group)
  if server.call('HGET', busy, rec.key) == id then server.call('HDEL', busy, rec.key) end
  promote(q, group, rec.key)
end
