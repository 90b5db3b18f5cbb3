--- Create executions. Each item is accepted or refused on its own, in order.
--- @key tag the partition
--- @arg items per item two values: its fields in msgpack, its input
--- @ok per item: created STATE, duplicate ID STATE, or no CODE ID; bound elsewhere: empty state, digest
--- @no id_conflict | idempotency_conflict | lane_draining
--- @event created
--- @flags write
--- @requires lib/keys lib/clock lib/record lib/index lib/ready lib/settings lib/timers

-- Fields of an item that go into the record as they are.
local KEPT = {
  'tenant', 'lane', 'kind', 'requires', 'priority', 'retry', 'give_up', 'attempt_timeout',
  'max_reclaims', 'max_replays', 'keep', 'key', 'digest', 'nonce', 'tagged', 'trace',
}

--- The next birth stamp in microseconds, unique and rising in the partition: exact order and cursors.
local function next_stamp(tag, now)
  local last = tonumber(server.call('HGET', keys.meta(tag), 'stamp') or 0)
  return math.max(now * 1000, last + 1)
end

--- Answer for an id that is taken: the same call again, the same content, or something else.
local function answer_taken(id, found, item)
  if item.nonce and found.nonce == item.nonce then return { 'created', found.state } end
  if not item.digest or found.digest == item.digest then return { 'duplicate', id, found.state } end
  return { 'no', item.key and not item.named and 'idempotency_conflict' or 'id_conflict', id }
end

--- The answer of an item that exists already, or whose key is bound to another id.
local function find_taken(tag, item)
  local id = item.id
  local alias = item.key and not item.named and server.call('GET', keys.alias(tag, item.tenant, item.key))
  if alias then
    local other, digest = alias:match('^(%S+) (%S+)$')
    if other ~= id and digest ~= item.digest then return { 'no', 'idempotency_conflict', other, digest } end
    if other ~= id then return { 'duplicate', other, '' } end
  end
  local state = server.call('HGET', keys.record(tag, id), 'state')
  if not state then return nil end
  local rest = server.call('HMGET', keys.record(tag, id), 'digest', 'nonce')
  return answer_taken(id, { state = state, digest = rest[1], nonce = rest[2] }, item)
end

--- The record of a new execution, as written.
local function compose(item, now, born, priority_us)
  local rec = { born = born }
  for _, name in ipairs(KEPT) do rec[name] = item[name] end
  if item.deadline then
    rec.deadline_span = item.deadline
    rec.deadline = now + item.deadline
  end
  local run_at = item.delay and now + item.delay or item.run_at
  if run_at and run_at > now then
    rec.state, rec.hold, rec.due = 'delayed', 'delay', run_at
  else
    rec.state, run_at = 'waiting', nil
  end
  local priority = tonumber(item.priority or 0)
  if run_at or priority ~= 0 then
    rec.rank = math.max(born, (run_at or 0) * 1000) - priority * priority_us
  end
  return rec
end

local function store(tag, id, rec, item, input)
  local fields = {}
  for name, value in pairs(rec) do
    fields[#fields + 1] = name
    fields[#fields + 1] = value
  end
  record.put_payload(keys.input(tag, id), 'input', input, fields)
  if item.tagged then
    record.put_payload(keys.tags(tag, id), 'tags', cmsgpack.pack(item.tags), fields)
    index.add_tags(tag, id, rec, item.tags)
  end
  server.call('HSET', keys.record(tag, id), unpack(fields))
end

local function run(tag, args)
  local now = clock.now(tag)
  local stamp = next_stamp(tag, now)
  local priority_us = settings.priority_us(tag)
  local items, answers, lanes, created, ready_now = {}, { 'ok' }, {}, {}, {}
  for i = 1, #args, 2 do items[#items + 1] = cmsgpack.unpack(args[i]) end
  for i, item in ipairs(items) do
    local id, lane = item.id, item.lane
    if lanes[lane] == nil then lanes[lane] = settings.lane(tag, lane) end
    local answer = find_taken(tag, item)
    if not answer and lanes[lane] == 'draining' then answer = { 'no', 'lane_draining', id } end
    if not answer then
      local rec = compose(item, now, stamp + #created, priority_us)
      store(tag, id, rec, item, args[2 * i])
      created[#created + 1] = { id, rec }
      if rec.state == 'waiting' then ready_now[#ready_now + 1] = { id, rec } end
      if rec.due or rec.deadline then timers.arm(tag, id, rec, now) end
      answer = { 'created', rec.state }
    end
    answers[#answers + 1] = answer
  end
  if #created > 0 then
    server.call('HSET', keys.meta(tag), 'stamp', stamp + #created - 1)
    index.move_many(tag, created)
    ready.add_many(tag, ready_now)
  end
  return answers
end
