--- Deliveries: hand-outs of a message to a consumer of a group. Each has its own handle, which
--- the caller mints as REQUEST-NUMBER and the queue marks, so that it knows its own for ever.
---
--- What is known of the hand-outs of a message in a group (`tries`):
---   n        how many there were, the attempts     first    when the first was
---   handle, consumer, at, due  of the last: `at` is its time or that of its last extension
---   late     the lock of the last one has expired, and no consumer has the message
---   reason   why the last one came back             bare   nothing in the record matters to an ack
---   landed   in memory only: it was in flight when this call began
--- @requires lib/core/keys lib/queue/queue lib/queue/messages lib/queue/order lib/queue/endings
local queue_deliveries = {}

local MARK = 12

function queue_deliveries.handle(q, request, number)
  local open = request .. '-' .. number
  return open .. '-' .. server.sha1hex(q.secret .. open):sub(1, MARK)
end

--- Whether a handle is one of this queue's.
function queue_deliveries.is_own(q, handle)
  local open, mark = handle:match('^(.+)-(%x+)$')
  return open ~= nil and server.sha1hex(q.secret .. open):sub(1, MARK) == mark
end

--- A list, in which the order of fields is fixed: the same tries are the same bytes.
local function encode_try(try)
  return cmsgpack.pack({
    try.n,
    try.first or false,
    try.handle or false,
    try.consumer or false,
    try.at or false,
    try.due or false,
    try.late or false,
    try.reason or false,
    try.bare or false,
  })
end

function queue_deliveries.decode_try(packed)
  local values = cmsgpack.unpack(packed)
  return {
    n = values[1],
    first = values[2] or nil,
    handle = values[3] or nil,
    consumer = values[4] or nil,
    at = values[5] or nil,
    due = values[6] or nil,
    late = values[7] or nil,
    reason = values[8] or nil,
    bare = values[9] or nil,
  }
end

function queue_deliveries.try(q, group, id)
  local packed = server.call('HGET', keys.tries(q.tag, group), id)
  return packed and queue_deliveries.decode_try(packed)
end

local function write_try(q, group, id, try)
  try.landed = nil
  server.call('HSET', keys.tries(q.tag, group), id, encode_try(try))
end

--- Hand one message out: what changes in its tries.
local function open_try(q, group, id, try, handle, consumer)
  if try.handle then queue.collect(q, 'HDEL', keys.handles(q.tag), try.handle) end
  if try.late then server.call('ZREM', keys.late(q.tag, group), id) end
  try.n = try.n + 1
  try.handle, try.consumer, try.at, try.due, try.late = handle, consumer, q.now, q.now + q.lock, nil
  try.first = try.first or q.now
end

--- Write what was handed out; `opened` is a list of { id, try }.
local function write_opened(q, group, opened, consumer)
  local tries, flight, handles = {}, {}, {}
  for i, one in ipairs(opened) do
    local id, try = one[1], one[2]
    tries[2 * i - 1], tries[2 * i] = id, encode_try(try)
    flight[2 * i - 1], flight[2 * i] = try.due, id
    handles[2 * i - 1], handles[2 * i] = try.handle, group .. '|' .. id
  end
  server.call('HSET', keys.tries(q.tag, group), unpack(tries))
  server.call('ZADD', keys.flight(q.tag, group), unpack(flight))
  server.call('HSET', keys.handles(q.tag), unpack(handles))
  queue.hold(q, group, consumer, #opened)
  queue.arm(q, 'flight|' .. group, q.now + q.lock)
end

--- Hand out messages that were taken; adds what the consumer gets to `out`. Those that may not be
--- handed out any more end instead.
function queue_deliveries.hand_out(q, group, ids, request, consumer, out)
  local recs, opened = queue_messages.read(q, ids), {}
  local bodies = server.call('HMGET', keys.bodies(q.tag), unpack(ids))
  local tries = server.call('HMGET', keys.tries(q.tag, group), unpack(ids))
  for i, id in ipairs(ids) do
    local rec, try = recs[id], tries[i] and queue_deliveries.decode_try(tries[i]) or { n = 0 }
    if queue_messages.is_over(q, rec) then
      queue_endings.retire(q, group, id, rec, try, 'expired')
    elseif queue.is_spent(q, try.n) then
      queue_endings.give_up(q, group, id, rec, try, try.reason or 'no attempts are left')
    else
      open_try(q, group, id, try, queue_deliveries.handle(q, request, #out + 1), consumer)
      try.bare = q.mode == 'work' and not rec.key and not rec.ends or nil
      queue_order.seize(q, group, id, rec)
      opened[#opened + 1] = { id, try }
      out[#out + 1] = { try.handle, id, bodies[i], rec.key or '', try.n, rec.born, try.due, rec.letter or '' }
    end
  end
  if #opened > 0 then write_opened(q, group, opened, consumer) end
end

--- What a request got and its consumer still holds.
function queue_deliveries.again(q, group, request, ids, out)
  for number, id in ipairs(ids) do
    local try = queue_deliveries.try(q, group, id)
    if try and not try.late and try.handle == queue_deliveries.handle(q, request, number) then
      local rec = queue_messages.read_one(q, id)
      local body = queue_messages.body(q, id)
      out[#out + 1] = { try.handle, id, body, rec.key or '', try.n, rec.born, try.due, rec.letter or '' }
    end
  end
end

--- Move the lock of a delivery.
function queue_deliveries.extend(q, group, id, try, ms)
  try.at, try.due = q.now, q.now + ms
  write_try(q, group, id, try)
  server.call('ZADD', keys.flight(q.tag, group), try.due, id)
  queue.arm(q, 'flight|' .. group, try.due)
end

--- A delivery is over, no matter what follows.
function queue_deliveries.land(q, group, id, try)
  queue.collect(q, 'ZREM', keys.flight(q.tag, group), id)
  queue.hold(q, group, try.consumer, -1)
  try.landed = true
  if q.cap or q.consumer_cap then q.ready = true end
end

--- A message comes back: to be handed out again, at once or later, or it ends; whether it lives.
function queue_deliveries.come_back(q, group, id, try, reason, delay)
  local rec = queue_messages.read_one(q, id)
  try.reason = reason
  if queue_messages.is_over(q, rec) then
    queue_endings.retire(q, group, id, rec, try, 'expired')
    return false
  elseif queue.is_spent(q, try.n) then
    queue_endings.give_up(q, group, id, rec, try, reason)
    return false
  elseif delay > 0 then
    write_try(q, group, id, try)
    server.call('ZADD', keys.retry(q.tag, group), q.now + delay, id)
    queue.arm(q, 'retry|' .. group, q.now + delay)
  else
    write_try(q, group, id, try)
    queue_order.give_back(q, group, id, rec)
  end
  return true
end

--- The lock of a delivery has expired. Its handle may still ack, until the next hand-out; whether
--- the message lives.
function queue_deliveries.expire(q, group, id, try)
  queue_deliveries.land(q, group, id, try)
  try.late = true
  server.call('ZADD', keys.late(q.tag, group), try.at, id)
  return queue_deliveries.come_back(q, group, id, try, 'the lock expired', 0)
end
