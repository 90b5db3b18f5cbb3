--- The next messages of a group, or of a FANOUT queue as a whole, without handing them out.
--- @key tag the queue
--- @arg group, may be empty @arg count
--- @ok per message: id, body, key, attempts, born, envelope
--- @no queue_not_found | group_not_found
--- @flags allow-oom
--- @requires lib/core/keys lib/queue/queue lib/queue/due lib/queue/messages lib/queue/deliveries
--- @requires lib/queue/groups

--- Ids that a group has taken in, by rank.
local function taken_in(q, group, count)
  local found, ids = {}, {}
  for _, key in ipairs({ keys.open(q.tag, group), keys.blocked(q.tag, group) }) do
    local rows = server.call('ZRANGE', key, 0, count - 1, 'WITHSCORES')
    for i = 1, #rows, 2 do found[#found + 1] = { rows[i], tonumber(rows[i + 1]) } end
  end
  table.sort(found, function(a, b) return a[2] < b[2] end)
  for i = 1, math.min(count, #found) do ids[i] = found[i][1] end
  return ids
end

local function next_ids(q, group, count)
  local ids = group ~= '' and taken_in(q, group, count) or {}
  if q.mode == 'work' or #ids == count then return ids end
  local after = group ~= '' and '(' .. queue_groups.cursor(q, group) or '-inf'
  local more =
    server.call('ZRANGE', keys.arrivals(q.tag), after, '+inf', 'BYSCORE', 'LIMIT', 0, count - #ids)
  for _, id in ipairs(more) do ids[#ids + 1] = id end
  return ids
end

local function run(tag, args)
  local group, count = args[1], tonumber(args[2])
  local q, refusal = queue.open(tag)
  if not q then return refusal end
  if group ~= '' or q.mode == 'work' then
    group, refusal = queue.group(q, group)
    if not group then return refusal end
  end
  queue_due.fire(q, 100)
  -- Where ranks differ from positions, what comes next is known when it is taken in.
  if group ~= '' and q.mixed == '1' then queue_groups.take_in(q, group, count) end
  queue.close(q)
  local rows = { 'ok' }
  for _, id in ipairs(next_ids(q, group, count)) do
    local rec = queue_messages.read_one(q, id)
    local try = group ~= '' and queue_deliveries.try(q, group, id)
    local body = queue_messages.body(q, id)
    rows[#rows + 1] = { id, body, rec.key or '', try and try.n or 0, rec.born, rec.letter or '' }
  end
  return rows
end
