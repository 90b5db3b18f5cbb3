--- The step journal: a hash of name to `NUMBER AT RESULT`, numbered in the order of recording. The first steps of
--- an execution with a brief are in the brief; lib/core/record makes them the hash when it unfolds it.
--- @requires lib/core/keys lib/core/record
local steps = {}

--- A claim hands out the whole journal, so its length is bounded.
steps.MOST = 10000

-- Texts of numbers: making one takes about as long as reading a field.
local numerals = {}

--- The number of a step as text.
function steps.numeral(number)
  local text = numerals[number]
  if not text then
    text = ('%d'):format(number)
    numerals[number] = text
  end
  return text
end

function steps.put(tag, id, name, number, now, result)
  server.call('HSET', keys.steps(tag, id), name, ('%d %d '):format(number, now) .. result)
end

--- The same, unless the step is recorded; returns whether it was not. Number and time are texts.
function steps.add(tag, id, name, number, now, result)
  return server.call('HSETNX', keys.steps(tag, id), name, number .. ' ' .. now .. ' ' .. result) == 1
end

--- The result of a step among names and values, or nil.
function steps.find(flat, name)
  for i = 1, #flat, 2 do
    if flat[i] == name then return flat[i + 1]:match('^%d+ %d+ (.*)$') end
  end
end

--- The result of a recorded step, or nil. `rec` is needed of an execution that may have a brief.
function steps.result(tag, id, name, rec)
  local inside = rec and record.in_brief(rec, 'steps')
  if inside then return steps.find(inside, name) end
  local value = server.call('HGET', keys.steps(tag, id), name)
  return value and value:match('^%d+ %d+ (.*)$')
end

--- All steps as names and values.
function steps.all(tag, id, rec)
  return record.in_brief(rec, 'steps') or server.call('HGETALL', keys.steps(tag, id))
end

--- Drop the named step and all recorded after it, from a journal that is a hash. Returns the number of the last
--- one kept, or nil if there is no such step.
function steps.drop_from(tag, id, name)
  local key = keys.steps(tag, id)
  local value = server.call('HGET', key, name)
  if not value then return nil end
  local from = tonumber((value:match('^%d+')))
  local all = server.call('HGETALL', key)
  for i = 1, #all, 2 do
    if tonumber((all[i + 1]:match('^%d+'))) >= from then server.call('HDEL', key, all[i]) end
  end
  return from - 1
end
