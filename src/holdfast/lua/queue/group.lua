--- Add a group to a FANOUT queue, with a start; an existing one is kept as it is.
--- @key tag the queue
--- @arg group @arg start first, end, after or at @arg place id of a message, or time in ms
--- @arg request id of this call; repeated, it gets the first answer
--- @ok created | kept
--- @no queue_not_found | queue_conflict | message_not_found | too_many_groups
--- @flags write
--- @requires lib/core/keys lib/queue/queue lib/queue/counts lib/queue/messages lib/queue/due
--- @requires lib/queue/memory lib/core/reply

-- Counting and purging go through all of them in one call.
local MOST = 1000

--- The position behind which the group begins, or nil and a refusal.
local function cursor_of(q, start, place)
  if start == 'first' then return '-inf' end
  if start == 'end' then return q.stamp end
  -- A time to come is the end: what arrives until then would be neither read nor counted.
  if start == 'at' then return math.min(place * 1000 - 1, q.stamp) end
  local rec = queue_messages.read_one(q, place)
  if not rec or not rec.position then
    return nil, reply.no('message_not_found', 'id', place, 'queue', queue.name(q.tag))
  end
  return rec.position
end

local function run(tag, args)
  local group, start, place, request = unpack(args)
  local q, refusal = queue.open(tag)
  if not q then return refusal end
  if q.mode == 'work' then
    if group == queue.DEFAULT then return { 'ok', 'kept' } end
    return reply.no('queue_conflict', 'mode', q.mode, 'queue', queue.name(tag))
  end
  if queue_memory.recall(tag, request) then return { 'ok', 'created' } end
  if server.call('ZSCORE', keys.groups(tag), group) then return { 'ok', 'kept' } end
  if server.call('ZCARD', keys.groups(tag)) >= MOST then
    return reply.no('too_many_groups', 'limit', MOST, 'queue', queue.name(tag))
  end
  queue_due.fire(q, 100)
  local cursor
  cursor, refusal = cursor_of(q, start, place)
  if cursor then
    server.call('ZADD', keys.groups(tag), cursor, group)
    queue_counts.begin(q, group)
    queue_memory.keep(tag, request, 'created')
  end
  queue.close(q)
  return refusal or { 'ok', 'created' }
end
