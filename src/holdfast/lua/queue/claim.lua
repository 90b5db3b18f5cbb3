--- Take deliveries over from consumers of the same group that have been idle for long. Each is a
--- hand-out with its own handle; the former handle is dead.
--- @key tag the queue
--- @arg group @arg request id of this call; repeated, it returns the same @arg consumer
--- @arg min_idle ms since the last hand-out or extension @arg count @arg cursor of the last page, or empty
--- @ok UNSENT 1 if something is owed to others, CURSOR or empty, deliveries as read has them
--- @no queue_not_found | group_not_found
--- @flags allow-oom
--- @requires lib/core/keys lib/queue/queue lib/queue/due lib/queue/deliveries lib/queue/memory
--- @requires lib/queue/outbox

-- How many deliveries are examined for each one that is requested.
local LOOKS = 10

--- Deliveries whose lock expired, and which no consumer has taken since.
local function late_ones(q, group, idle_since, count)
  local ids, key = {}, keys.late(q.tag, group)
  local late = server.call('ZRANGE', key, '-inf', idle_since, 'BYSCORE', 'LIMIT', 0, count)
  for _, id in ipairs(late) do
    -- A message that waits behind another one of its key is not available.
    if server.call('ZREM', keys.open(q.tag, group), id) == 1 then ids[#ids + 1] = id end
  end
  return ids
end

--- The index at which a page begins: after the delivery that the cursor names, `DEADLINE|ID`.
local function first_of(key, cursor)
  if cursor == '' then return 0 end
  local due, id = cursor:match('^(%d+)|(.*)$')
  local rank = server.call('ZRANK', key, id)
  if rank and server.call('ZSCORE', key, id) == due then return rank + 1 end
  return server.call('ZCOUNT', key, '-inf', '(' .. due)
end

--- Idle deliveries in flight, by deadline from a cursor on; ids and where to continue.
local function idle_ones(q, group, idle_since, count, cursor)
  local key, ids, looks = keys.flight(q.tag, group), {}, LOOKS * count
  local first = first_of(key, cursor)
  local rows = server.call('ZRANGE', key, first, first + looks - 1, 'WITHSCORES')
  local go_on = #rows == 2 * looks and rows[#rows] .. '|' .. rows[#rows - 1] or ''
  for i = 1, #rows, 2 do
    if #ids == count then return ids, rows[i - 1] .. '|' .. rows[i - 2] end
    local try = queue_deliveries.try(q, group, rows[i])
    if try.at <= idle_since then
      ids[#ids + 1] = rows[i]
      queue.hold(q, group, try.consumer, -1)
      server.call('ZREM', key, rows[i])
    end
  end
  return ids, go_on
end

local function run(tag, args)
  local name, request, consumer, min_idle, count, cursor = unpack(args)
  local q, group = queue.open_group(tag, name)
  if not q then return group end
  local out, known = {}, queue_memory.recall(tag, request)
  if known then
    local cursor_then, ids_then = unpack(cmsgpack.unpack(known))
    queue_deliveries.again(q, group, request, ids_then, out)
    return { 'ok', queue_outbox.size(q) > 0 and 1 or 0, cursor_then, unpack(out) }
  end
  queue_due.fire(q, 100)
  queue.close(q)
  local idle_since, wanted, go_on = q.now - min_idle, tonumber(count), ''
  local ids, taken = late_ones(q, group, idle_since, wanted), {}
  if #ids < wanted then
    local more
    more, go_on = idle_ones(q, group, idle_since, wanted - #ids, cursor)
    for _, id in ipairs(more) do ids[#ids + 1] = id end
  end
  if #ids > 0 then queue_deliveries.hand_out(q, group, ids, request, consumer, out) end
  for i, delivery in ipairs(out) do taken[i] = delivery[2] end
  if #ids > 0 then queue_memory.keep(tag, request, cmsgpack.pack({ go_on, taken })) end
  queue.close(q)
  return { 'ok', q.unsent and 1 or 0, go_on, unpack(out) }
end
