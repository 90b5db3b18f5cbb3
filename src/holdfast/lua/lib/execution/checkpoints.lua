--- Checkpoints of many executions in one call. Those that have briefs keep their first steps inside, so that the
--- briefs of a whole call are read and written together; later steps, and those of others, are fields of a hash.
--- @requires lib/core/clock lib/core/keys lib/core/brief lib/core/ownership lib/core/record lib/core/reply
--- @requires lib/execution/lease lib/execution/steps
local checkpoints = {}

local OK = { 'ok' }
local NEEDED = { 'plain', 'steps' }

--- The head of the brief of an execution that runs, taken apart, and what it becomes with one step more. False if
--- the lease has ended. Executions that were claimed together have the same.
local function head_of(heads, text, now)
  local start = text:sub(1, text:find('\n', 1, true))
  local head = heads[start]
  if head ~= nil then return head end
  head = false
  local letter, fence, due, claimed, count, _, worker = brief.parse_head(start:sub(1, -2))
  if letter == 'a' and tonumber(due) > now then
    local plus, known = count:match('^(%+?)(%d+)$')
    local number = steps.numeral((known or 0) + 1)
    head = {
      fence = fence, size = #start, count = tonumber(known or 0), number = number, is_inside = plus ~= '',
      inside = brief.head('a', fence, due, claimed, '+' .. number, '-', worker) .. '\n',
      outside = brief.head('a', fence, due, claimed, number, '-', worker) .. '\n',
    }
  end
  heads[start] = head
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

--- Record a step of an execution that has a hash. Returns the answer, if it was not simply recorded.
local function add(tag, id, fence, name, result, now, now_text)
  local rec = lease.held(tag, id, fence, now, NEEDED)
  local refusal
  if not rec then rec, refusal = lease.check(tag, id, fence, now) end
  if not rec then return refusal end
  local number = steps.numeral((rec.steps or 0) + 1)
  if tonumber(number) > steps.MOST or not steps.add(tag, id, name, number, now_text, result) then
    return not_added(tag, id, name)
  end
  record.write(tag, id, rec, { 'steps', number })
end

--- The keys of the records of the items.
local function records_of(tag, args)
  local records, size, key_of = {}, 0, keys.record
  for i = 1, #args, 4 do
    size = size + 1
    records[size] = key_of(tag, args[i])
  end
  return records
end

--- Record the steps of executions that have briefs. Adds the answers to items that were not simply recorded to
--- `answers`, by number. Returns the numbers of the items that are left.
local function add_to_briefs(tag, args, tenant, now, now_text, answers)
  local records, heads, left = records_of(tag, args), {}, {}
  local briefs = server.call('MGET', unpack(records))
  -- Briefs to write, after their keys, and the place of each: a call may have several steps of one execution.
  local written, places, last = {}, {}, 0
  for n, key in ipairs(records) do
    local i, place = 4 * n - 3, places[key]
    local text = place and written[place] or briefs[n]
    local refusal = tenant and ownership.execution(tag, args[i], tenant)
    local head = text and not refusal and head_of(heads, text, now)
    if head and head.fence == args[i + 1] then
      local longer, answer = add_to_brief(tag, args[i], text, head, args[i + 2], args[i + 3], now_text)
      if not longer then
        answers[n] = answer
      elseif place then
        written[place] = longer
      else
        written[last + 1], written[last + 2] = key, longer
        last = last + 2
        places[key] = last
      end
    elseif refusal then
      answers[n] = refusal
    else
      left[#left + 1] = n
    end
  end
  if last > 0 then server.call('MSET', unpack(written)) end
  return left
end

--- Record steps: id, fence, name and result each. Returns `ok` and the answer to each; or, unless `in_full`, only
--- `ok` if all of them were recorded now.
function checkpoints.all(tag, args, tenant, in_full)
  local now, answers = clock.now(tag), {}
  local now_text = ('%d'):format(now)
  for _, n in ipairs(add_to_briefs(tag, args, tenant, now, now_text, answers)) do
    local i = 4 * n - 3
    answers[n] = add(tag, args[i], args[i + 1], args[i + 2], args[i + 3], now, now_text)
  end
  local replies, is_new = { 'ok' }, true
  for n = 1, #args / 4 do
    local answer = answers[n]
    replies[n + 1], is_new = answer or OK, is_new and not answer
  end
  return is_new and not in_full and OK or replies
end
