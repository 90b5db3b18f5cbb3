--- Record the results of steps. A recorded step never changes: the first result is the answer.
--- @key tag the partition
--- @arg items per item four values: id, fence, name, result
--- @ok per item: ok, with the result of a step that was recorded before, or a refusal
--- @no execution_not_found | not_active | stale_lease | lease_revoked | too_many_steps
--- @flags write @owned items
--- @requires lib/core/clock lib/core/ownership lib/core/record lib/core/reply lib/execution/lease
--- @requires lib/execution/steps

local OK = { 'ok' }
local NEEDED = { 'plain', 'steps' }

local function add(tag, id, rec, name, result, now_text)
  local number = (rec.steps or 0) + 1
  local text = steps.numeral(number)
  if number <= steps.MOST and steps.add(tag, id, name, text, now_text, result) then
    record.write(tag, id, rec, { 'steps', text })
    return OK
  end
  local known = steps.result(tag, id, name)
  if known then return { 'ok', known } end
  return reply.no('too_many_steps', 'id', id, 'limit', steps.MOST)
end

local function run(tag, args, tenant)
  local now = clock.now(tag)
  local answers, size, now_text = { 'ok' }, 1, ('%d'):format(now)
  for i = 1, #args, 4 do
    local id, fence, rec = args[i], args[i + 1], nil
    local refusal = tenant and ownership.execution(tag, id, tenant)
    if not refusal then
      rec = lease.held(tag, id, fence, now, NEEDED)
      if not rec then rec, refusal = lease.check(tag, id, fence, now) end
    end
    size = size + 1
    answers[size] = rec and add(tag, id, rec, args[i + 2], args[i + 3], now_text) or refusal
  end
  return answers
end
