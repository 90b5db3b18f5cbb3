--- Hand out messages to a consumer of a group.
--- @key tag the queue
--- @arg group, may be empty on a WORK queue @arg request id of this call; repeated, it returns the same
--- @arg consumer @arg count @arg side left or right
--- @ok UNSENT 1 if something is owed to others, WAIT_MS until something may be ready or empty,
--- @ok deliveries: handle, id, body, key, attempt, born, deadline, envelope
--- @no queue_not_found | group_not_found
--- @flags allow-oom
--- @requires lib/core/keys lib/queue/queue lib/queue/due lib/queue/order lib/queue/groups
--- @requires lib/queue/deliveries lib/queue/memory lib/queue/outbox

-- Messages that end instead of being handed out are passed over; this bounds how many.
local MOST_ROUNDS = 20

--- How many more a consumer may get.
local function room(q, group, consumer, count)
  if queue.is_paused(q, group) then return 0 end
  if q.cap then count = math.min(count, q.cap - server.call('ZCARD', keys.flight(q.tag, group))) end
  if q.consumer_cap then
    local held = tonumber(server.call('HGET', keys.consumers(q.tag, group), consumer) or 0)
    count = math.min(count, q.consumer_cap - held)
  end
  return count
end

--- Fill `out`; whether there may be more at once.
local function fill(q, group, request, consumer, count, side, out)
  for _ = 1, MOST_ROUNDS do
    local wanted = count - #out
    if wanted <= 0 then return false end
    local more = false
    -- Where ranks or ends differ, what a group has not taken in may come before what it has.
    local mixed = q.mixed == '1' or side == 'right'
    if mixed or server.call('ZCARD', keys.open(q.tag, group)) < wanted then
      more = queue_groups.take_in(q, group, mixed and 1000 or wanted)
    end
    local ids = queue_order.take(q, group, side, wanted)
    if #ids > 0 then
      queue_deliveries.hand_out(q, group, ids, request, consumer, out)
      -- What all rounds collect may be more than Lua can pass to a command.
      queue.flush(q)
    elseif not more then
      return false
    end
  end
  return true
end

local function wait_ms(q, more)
  if more then return 0 end
  local due = queue.next_due(q)
  return due and math.max(0, due - q.now) or ''
end

local function run(tag, args)
  local name, request, consumer, count, side = unpack(args)
  local q, group = queue.open_group(tag, name)
  if not q then return group end
  local out, known = {}, queue_memory.recall(tag, request)
  if known then
    queue_deliveries.again(q, group, request, cmsgpack.unpack(known), out)
    -- It got nothing, or has lost it since: it may look again at once.
    return { 'ok', queue_outbox.size(q) > 0 and 1 or 0, #out == 0 and 0 or '', unpack(out) }
  end
  queue_due.fire(q, 100)
  queue.close(q)
  local limit = room(q, group, consumer, tonumber(count))
  local more = fill(q, group, request, consumer, limit, side, out)
  -- A read that only gave messages up must not fire the timer of their letters when it is repeated.
  if #out > 0 or q.unsent then
    local ids = {}
    for i, delivery in ipairs(out) do ids[i] = delivery[2] end
    queue_memory.keep(tag, request, cmsgpack.pack(ids))
  end
  queue.close(q)
  return { 'ok', q.unsent and 1 or 0, wait_ms(q, more), unpack(out) }
end
