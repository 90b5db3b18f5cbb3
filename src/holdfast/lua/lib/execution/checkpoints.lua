--- Checkpoints of many executions in one call. Those that have briefs keep their first steps inside, so that the
--- briefs of a whole call are read and written together; later steps, and those of others, are fields of a hash.
--- @requires lib/core/clock lib/core/keys lib/core/brief lib/core/ownership lib/core/record lib/core/reply
--- @requires lib/execution/lease lib/execution/steps
local checkpoints = {}

local OK = { 'ok' }
local NEEDED = { 'plain', 'steps' }

--- The head of the brief of an execution that runs, taken apart, and what it becomes with one step more. False if
--- the lease has ended. Executions that were claimed together have the same.
local function head_of(call, text)
  local start = text:sub(1, text:find('\n', 1, true))
  local head = call.heads[start]
  if head ~= nil then return head end
  head = false
  local letter, fence, due, claimed, count, _, worker = brief.parse_head(start:sub(1, -2))
  if letter == 'a' and tonumber(due) > call.now then
    local plus, known = count:match('^(%+?)(%d+)$')
    local number = steps.numeral((known or 0) + 1)
    head = {
      fence = fence, size = #start, count = tonumber(known or 0), number = number, is_inside = plus ~= '',
      inside = brief.head('a', fence, due, claimed, '+' .. number, '-', worker) .. '\n',
      outside = brief.head('a', fence, due, claimed, number, '-', worker) .. '\n',
    }
  end
  call.heads[start] = head
  return head
end

--- The result of a step in a brief, or nil.
local function result_in(text, head, name)
  if head.count == 0 or not text:find('\n' .. name .. '\n', head.size, true) then return nil end
  -- What looks like the name may be part of something else.
  return steps.find(brief.split(text, head.count), name)
end

--- Make the steps in a brief a hash; returns the brief without them.
local function move_out(tag, id, text, head)
  if head.count == 0 then return text end
  local inside, rest = brief.split(text, head.count)
  server.call('HSET', keys.steps(tag, id), unpack(inside))
  return rest
end

--- Why a step was not added to a hash: it is there, or the hash is full.
local function not_added(tag, id, name)
  local known = steps.result(tag, id, name)
  return known and { 'ok', known } or reply.no('too_many_steps', 'id', id, 'limit', steps.MOST)
end

--- Record a step of an execution that has a brief. Returns the brief to write, or nil and the answer.
local function add_to_brief(tag, id, text, head, name, result, now_text)
  if head.is_inside then
    local known = result_in(text, head, name)
    if known then return nil, { 'ok', known } end
    local longer = brief.with_step(text, head.size, head.inside, name, now_text, result)
    if longer then return longer end
    text = move_out(tag, id, text, head)
  end
  if head.count < steps.MOST and steps.add(tag, id, name, head.number, now_text, result) then
    return head.outside .. text:sub(head.size + 1)
  end
  return nil, not_added(tag, id, name)
end

--- Record a step of an execution that has a hash, or refuse to.
local function add(tag, id, fence, name, result, call)
  local rec = lease.held(tag, id, fence, call.now, NEEDED)
  local refusal
  if not rec then rec, refusal = lease.check(tag, id, fence, call.now) end
  if not rec then return refusal end
  local number = steps.numeral((rec.steps or 0) + 1)
  if tonumber(number) > steps.MOST or not steps.add(tag, id, name, number, call.now_text, result) then
    return not_added(tag, id, name)
  end
  record.write(tag, id, rec, { 'steps', number })
  return OK
end

--- The records of the items, and those of their briefs that exist.
local function read(tag, args)
  local records, size = {}, 0
  for i = 1, #args, 4 do
    size = size + 1
    records[size] = keys.record(tag, args[i])
  end
  return records, server.call('MGET', unpack(records)), size
end

--- Record steps: id, fence, name and result each. Returns `ok` and an answer for each, and whether all of them
--- were recorded by this call.
function checkpoints.all(tag, args, tenant)
  local now = clock.now(tag)
  local call = { now = now, now_text = ('%d'):format(now), heads = {} }
  local records, briefs, size = read(tag, args)
  -- Briefs to write, after their keys, and the place of each: a call may have several steps of one execution.
  local answers, written, places, last = { 'ok' }, {}, {}, 0
  local all_new = true
  for n = 1, size do
    local i, key = 4 * n - 3, records[n]
    local id, place = args[i], places[key]
    local text = place and written[place] or briefs[n]
    local refusal = tenant and ownership.execution(tag, id, tenant)
    local head = text and not refusal and head_of(call, text)
    if head and head.fence == args[i + 1] then
      local longer, answer = add_to_brief(tag, id, text, head, args[i + 2], args[i + 3], call.now_text)
      if longer and not place then
        written[last + 1], last = key, last + 2
        place, places[key] = last, last
      end
      if longer then written[place] = longer end
      answers[n + 1] = answer or OK
    else
      answers[n + 1] = refusal or false
    end
  end
  if last > 0 then server.call('MSET', unpack(written)) end
  for n = 1, size do
    local i = 4 * n - 3
    local answer = answers[n + 1] or add(tag, args[i], args[i + 1], args[i + 2], args[i + 3], call)
    answers[n + 1] = answer
    all_new = all_new and answer == OK
  end
  return answers, all_new
end
