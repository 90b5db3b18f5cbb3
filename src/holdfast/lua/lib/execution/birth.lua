--- Creation of executions: the record of a new one and its payloads.
--- @requires lib/core/keys lib/core/record lib/core/index lib/core/brief
local birth = {}

-- Fields of an item that are copied to the record unchanged.
local KEPT = {
  tenant = true, lane = true, kind = true, requires = true, priority = true, retry = true, give_up = true,
  attempt_timeout = true, max_reclaims = true, max_replays = true, keep = true, key = true, digest = true,
  nonce = true, tagged = true, limited = true, trace = true, rev = true, on_end = true, bond = true,
}

--- The record of a new execution, as it is written.
function birth.compose(item, now, born, priority_us)
  local rec = { born = born }
  if item.limits then item.limited = 1 end
  for name, value in pairs(item) do
    if KEPT[name] then rec[name] = value end
  end
  if item.deadline then
    rec.deadline_span = item.deadline
    rec.deadline = now + item.deadline
  end
  local run_at = item.delay and now + item.delay or item.run_at
  if run_at and run_at > now then
    rec.state, rec.hold, rec.due = 'delayed', item.window == 'debounce' and 'debounce' or 'delay', run_at
  else
    rec.state, run_at = 'waiting', nil
  end
  local priority = tonumber(item.priority or 0)
  if run_at or priority ~= 0 then
    rec.rank = math.max(born, (run_at or 0) * 1000) - priority * priority_us
  end
  return rec
end

local COPIED = {
  'tenant', 'lane', 'kind', 'requires', 'priority', 'retry', 'give_up', 'attempt_timeout',
  'max_reclaims', 'max_replays', 'keep', 'tagged', 'rev', 'on_end',
}

--- An item with the options of an execution that exists, for one that follows it.
function birth.copy(tag, id, rec)
  local item = { deadline = tonumber(rec.deadline_span or nil) }
  for _, name in ipairs(COPIED) do item[name] = rec[name] end
  if rec.tagged then item.tags = record.tags(tag, id, rec) end
  item.limits = record.limits(tag, id, rec)
  return item
end

--- Put an input into the fields of a record. One that does not fit is added to `inputs`, if given: keys and
--- values, to be written together.
function birth.put_input(tag, id, input, inputs, fields)
  if inputs and not record.is_inline(input) then
    local count = #inputs
    inputs[count + 1], inputs[count + 2] = keys.input(tag, id), input
  else
    record.put_payload(keys.input(tag, id), 'input', input, fields)
  end
end

-- Fields of an item that is ready at once and that nothing treats in a particular way, with whether its
-- record has them beside its place.
local SIMPLE = {
  tenant = false, lane = false, kind = false, id = false, named = false, retry = true, give_up = true,
  max_reclaims = true, max_replays = true, key = true, digest = true, nonce = true, trace = true, limits = false,
}

--- Further fields of a simple item, packed, or empty. Nil if the item is not simple: its record is a hash.
function birth.extras(item)
  local extras
  if item.limits and not brief.can_list(item.limits) then return nil end
  for name, value in pairs(item) do
    local kept = SIMPLE[name]
    if kept == nil then return nil end
    if kept then
      extras = extras or {}
      extras[name] = value
    end
  end
  return extras and cmsgpack.pack(extras) or ''
end

--- The place of an item. Those of a cohort differ in their limits at most.
local function place_of(cohort, item)
  if not cohort.place or cohort.limits ~= item.limits then
    cohort.limits = item.limits
    cohort.place = brief.place(item.tenant, item.lane, item.kind, item.limits)
  end
  return cohort.place
end

--- The brief of a new execution. An input that does not fit is added to `inputs`.
function birth.brief(tag, item, cohort, born, extras, input, inputs)
  local place = place_of(cohort, item)
  if #input <= brief.MOST_BYTES then return brief.new(place, born, extras, input) end
  local count = #inputs
  inputs[count + 1], inputs[count + 2] = keys.input(tag, item.id), input
  return brief.new(place, born, extras)
end

--- Write a new execution; so far only the lists of its tags contain it.
function birth.store(tag, id, rec, item, input, inputs)
  local fields, size = {}, 0
  for name, value in pairs(rec) do
    fields[size + 1], fields[size + 2] = name, value
    size = size + 2
  end
  birth.put_input(tag, id, input, inputs, fields)
  if item.tagged then
    record.put_payload(keys.tags(tag, id), 'tags', cmsgpack.pack(item.tags), fields)
    index.add_tags(tag, id, rec, item.tags)
  end
  if item.limited then record.put_payload(keys.limits(tag, id), 'limits', item.limits, fields) end
  if record.is_plain(fields, rec.graph) and not (item.limited and (item.tagged or rec.graph)) then
    fields[#fields + 1] = 'plain'
    fields[#fields + 1] = rec.graph and '3' or item.limited and '2' or '1'
  end
  server.call('HSET', keys.record(tag, id), unpack(fields))
end
