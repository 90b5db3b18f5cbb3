--- Create executions. Each item is accepted or refused on its own, in order.
--- @key tag the partition
--- @arg items per item two values: its fields in msgpack, its input
--- @ok per item: created STATE, duplicate ID STATE, or no CODE ID; bound elsewhere: empty state, digest
--- @ok of an item that a schedule fires also: skipped
--- @no id_conflict | idempotency_conflict | lane_draining | revision_draining | schedule_moved
--- @no parent_ended
--- @event created
--- @flags write
--- @requires lib/core/keys lib/core/clock lib/execution/birth lib/core/index lib/execution/ready
--- @requires lib/core/settings lib/core/stamps lib/core/timers lib/admin/schedules lib/limit/limits
--- @requires lib/execution/windows lib/execution/children lib/deploy/needs

--- The answer for an id that is taken: by the same call, by the same content, or by other content.
local function answer_taken(id, found, item)
  if item.nonce and found.nonce == item.nonce then return { 'created', found.state } end
  if not item.digest or found.digest == item.digest then return { 'duplicate', id, found.state } end
  return { 'no', item.key and not item.named and 'idempotency_conflict' or 'id_conflict', id }
end

--- The answer for an item that already exists, or whose key is bound to another id.
local function find_taken(tag, item, input, now)
  if item.window then return windows.answer(tag, item, input, now) end
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

local function run(tag, args)
  local now = clock.now(tag)
  local stamp = stamps.next(tag, now)
  local priority_us, ruled = settings.priority_us(tag), settings.has_rules(tag)
  local items, answers, lanes, created, ready_now = {}, { 'ok' }, {}, {}, {}
  for i = 1, #args, 2 do items[#items + 1] = cmsgpack.unpack(args[i]) end
  for i, item in ipairs(items) do
    local id, lane = item.id, item.lane
    if lanes[lane] == nil then lanes[lane] = settings.lane(tag, lane) end
    local answer = find_taken(tag, item, args[2 * i], now)
    if not answer and lanes[lane] == 'draining' then answer = { 'no', 'lane_draining', id } end
    if not answer and needs.refusal(tag, id, item.tenant, item.rev, children.parent_of(id)) then
      answer = { 'no', 'revision_draining', id }
    end
    if not answer and item.bond and not children.can_bind(tag, id, item.tenant) then
      answer = { 'no', 'parent_ended', id }
    end
    if item.schedule then answer = schedules.turn(tag, item, answer, now) end
    if not answer then
      if ruled then item.limits = limits.resolve(tag, item) end
      local rec = birth.compose(item, now, stamp + #created, priority_us)
      if item.schedule then schedules.fire(tag, item, rec) end
      children.add(tag, id, rec)
      if rec.bond then children.bind(tag, id, rec.born) end
      birth.store(tag, id, rec, item, args[2 * i])
      created[#created + 1] = { id, rec }
      if rec.state == 'waiting' then ready_now[#ready_now + 1] = { id, rec } end
      if item.window then windows.open(tag, item, now) end
      if rec.due or rec.deadline then timers.arm(tag, id, rec, now) end
      answer = { 'created', rec.state }
    end
    answers[#answers + 1] = answer
  end
  if #created > 0 then
    stamps.take(tag, stamp + #created - 1)
    index.move_many(tag, created)
    ready.add_many(tag, ready_now)
  end
  return answers
end
