--- Take ready messages of a WORK queue out, to owe them to another queue, in their order. For moving
--- and redriving; each counts as acked here.
--- @key tag the queue
--- @arg request id of this call; repeated, it gets the first answer
--- @arg to a queue, or empty: each dead letter to its origin @arg limit @arg dry 1: only count
--- @arg cursor of the last page, or empty @arg origin @arg group @arg reason what dead letters must have, or empty
--- @ok UNSENT 1 if something is owed to others, TAKEN, CURSOR or empty at the end
--- @no queue_not_found | queue_conflict
--- @flags allow-oom
--- @requires lib/core/keys lib/queue/queue lib/queue/due lib/queue/messages lib/queue/deliveries
--- @requires lib/queue/endings lib/queue/outbox lib/queue/memory lib/core/reply

local LOOKS = 500

--- Add rows of a set to a list, those of one rank only behind an id.
local function add(found, key, first, last, after)
  local rows = server.call('ZRANGE', key, first, last, 'BYSCORE', 'LIMIT', 0, LOOKS, 'WITHSCORES')
  for i = 1, #rows, 2 do
    if rows[i] > after then found[#found + 1] = { rows[i], rows[i + 1] } end
  end
end

--- The next messages by rank and id, blocked ones too; a list of { id, rank as text }. A cursor is
--- `RANK|ID`: messages may have the same rank.
local function page(q, cursor)
  local found = {}
  local rank, after = cursor:match('^([^|]*)|?(.*)$')
  for _, key in ipairs({ keys.open(q.tag, queue.DEFAULT), keys.blocked(q.tag, queue.DEFAULT) }) do
    if after ~= '' then add(found, key, rank, rank, after) end
    add(found, key, rank == '' and '-inf' or '(' .. rank, '+inf', '')
  end
  table.sort(found, function(a, b)
    if a[2] == b[2] then return a[1] < b[1] end
    return tonumber(a[2]) < tonumber(b[2])
  end)
  return found
end

local function matches(letter, wanted)
  for _, name in ipairs({ 'origin', 'group' }) do
    if wanted[name] ~= '' and not (letter and letter[name] == wanted[name]) then return false end
  end
  return wanted.reason == '' or (letter ~= nil and letter.reason:find(wanted.reason, 1, true) ~= nil)
end

local function retire(q, id, rec, fate)
  queue_endings.retire(q, queue.DEFAULT, id, rec, queue_deliveries.try(q, queue.DEFAULT, id), fate)
end

local function hand_over(q, id, rec, letter, to)
  local message = { id = id, body = queue_messages.body(q, id), key = rec.key, letter = rec.letter }
  if to == '' then
    message.letter, message.only = nil, letter.group
  else
    message.ends = rec.ends
  end
  queue_outbox.put_message(q, to ~= '' and to or letter.origin, message)
  retire(q, id, rec, 'acked')
end

--- How many were taken, and where to continue.
local function take(q, to, limit, dry, cursor, wanted)
  local taken = 0
  local found = page(q, cursor)
  for i = 1, math.min(#found, LOOKS) do
    if taken == limit then return taken, cursor end
    local id = found[i][1]
    local rec = queue_messages.read_one(q, id)
    local letter = rec.letter and cmsgpack.unpack(rec.letter)
    if queue_messages.is_over(q, rec) then
      -- Its timer did not get to it.
      if not dry then retire(q, id, rec, 'expired') end
    elseif matches(letter, wanted) and (to ~= '' or letter) then
      if not dry then hand_over(q, id, rec, letter, to) end
      taken = taken + 1
    end
    cursor = found[i][2] .. '|' .. id
  end
  return taken, #found >= LOOKS and cursor or ''
end

local function run(tag, args)
  local request, to, limit, dry, cursor, origin, group, reason = unpack(args)
  local q, refusal = queue.open(tag)
  if not q then return refusal end
  if q.mode ~= 'work' then return reply.no('queue_conflict', 'mode', q.mode, 'queue', queue.name(tag)) end
  local known = queue_memory.recall(tag, request)
  if known then return cmsgpack.unpack(known) end
  queue_due.fire(q, 100)
  queue.close(q)
  local wanted = { origin = origin, group = group, reason = reason }
  local taken, go_on = take(q, to, tonumber(limit), dry == '1', cursor, wanted)
  local answer = { 'ok', q.unsent and 1 or 0, taken, go_on }
  queue_memory.keep(tag, request, cmsgpack.pack(answer))
  queue.close(q)
  return answer
end
