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
--- @requires lib/execution/taken lib/execution/children lib/deploy/needs lib/core/cohorts
--- @requires lib/execution/windows lib/core/brief

local CREATED = { 'created', 'waiting' }

--- The refusal of an item that cannot be created now, or nil.
local function refuse(tag, item, lane)
  local id, tenant = item.id, item.tenant
  if lane == 'draining' then return { 'no', 'lane_draining', id } end
  if item.rev and needs.refusal(tag, id, tenant, item.rev, children.parent_of(id)) then
    return { 'no', 'revision_draining', id }
  end
  if item.bond and not children.can_bind(tag, id, tenant) then return { 'no', 'parent_ended', id } end
  return nil
end

--- Decode the items. Returns them, the keys of their records, and whether none of these is taken.
local function decode(tag, args)
  local items, records, size = {}, {}, 0
  for i = 1, #args, 2 do
    local item = cmsgpack.unpack(args[i])
    size = size + 1
    items[size], records[size] = item, keys.record(tag, item.id)
  end
  return items, records, server.call('EXISTS', unpack(records)) == 0
end

--- Write the briefs of new executions that were collected so far.
local function write_briefs(new)
  if new.size == 0 then return end
  server.call('MSET', unpack(new.briefs))
  new.briefs, new.size = {}, 0
end

--- Create an execution of a simple item. `new` collects its brief, and by cohort what is listed together.
local function create_simple(tag, item, key, extras, input, stamp, new)
  local id, size, born = item.id, new.size, brief.stamp(stamp, new.stamps)
  local cohort = cohorts.of(new.cohorts, item.tenant, item.lane, item.kind)
  cohorts.add(cohort, id, born)
  new.briefs[size + 1] = key
  new.briefs[size + 2] = birth.brief(tag, item, cohort, born, extras, input, new.inputs)
  new.size = size + 2
end

--- Create any other execution; returns its state.
local function create(tag, item, input, now, stamp, new)
  local id = item.id
  local rec = birth.compose(item, now, stamp, new.priority_us)
  if item.schedule then schedules.fire(tag, item, rec) end
  children.add(tag, id, rec)
  if rec.bond then children.bind(tag, id, rec.born) end
  -- The input of an execution with a window may be replaced by a later item.
  birth.store(tag, id, rec, item, input, not item.window and new.inputs)
  if item.window then windows.open(tag, item, now) end
  if rec.due or rec.deadline then timers.arm(tag, id, rec, now) end
  local one = { id, rec }
  new.others[#new.others + 1] = one
  if rec.state == 'waiting' then new.ready[#new.ready + 1] = one end
  return rec.state
end

--- Write the inputs of new executions that have keys of their own, and list all.
local function list(tag, new)
  write_briefs(new)
  if #new.inputs > 0 then server.call('MSET', unpack(new.inputs)) end
  index.move_many(tag, new.others)
  ready.add_many(tag, new.ready)
  for _, cohort in ipairs(new.cohorts) do
    index.shift(tag, cohort, nil, 'waiting')
    ready.add_cohort(tag, cohort)
  end
end

local function run(tag, args)
  local now = clock.now(tag)
  local first = stamps.next(tag, now)
  local stamp = first
  local items, records, all_new = decode(tag, args)
  local new = { cohorts = {}, others = {}, ready = {}, inputs = {}, briefs = {}, size = 0, stamps = {} }
  new.priority_us, new.ruled = settings.priority_us(tag), settings.has_rules(tag)
  local answers, lanes, ids = { 'ok' }, {}, {}
  for i, item in ipairs(items) do
    local id, lane, input = item.id, item.lane, args[2 * i]
    if lanes[lane] == nil then lanes[lane] = settings.lane(tag, lane) end
    if new.ruled then item.limits = limits.resolve(tag, item) end
    local extras = not children.parent_of(id) and birth.extras(item)
    -- Other items may look up executions of this call.
    if not extras or ids[id] then write_briefs(new) end
    local answer = taken.find(tag, item, input, all_new and not ids[id], now)
    answer = answer or refuse(tag, item, lanes[lane])
    if item.schedule then answer = schedules.turn(tag, item, answer, now) end
    if not answer then
      if extras then
        create_simple(tag, item, records[i], extras, input, stamp, new)
        answer = CREATED
      else
        answer = { 'created', create(tag, item, input, now, stamp, new) }
      end
      stamp, ids[id] = stamp + 1, true
    end
    answers[i + 1] = answer
  end
  if stamp > first then
    stamps.take(tag, stamp - 1)
    list(tag, new)
  end
  return answers
end
