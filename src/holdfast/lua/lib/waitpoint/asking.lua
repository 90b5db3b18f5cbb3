--- Waitpoints at which executions ask for more of a budget. Each has `asks`:
---   budget, dimension, limit   whose hard limit the execution would have passed
---   key, fence, current        the charge that was refused, for its repetition
---   replays                    of the execution at that time          denied   the answer was no
--- @requires lib/limit/outbox lib/waitpoint/waitpoints
local asking = {}

-- How many waitpoints are looked at: a question that is older than this many waits is asked again.
local LOOK_BACK = 100

--- An answer has come. What raises a limit lives in another partition, so it goes by the outbox.
function asking.answer(tag, waitpoint_id, asks, name, limit, now)
  if name == 'deny' then
    asks.denied = true
  elseif (limit or '') ~= '' then
    outbox.put(tag, now, 'l', waitpoint_id, asks.budget, asks.dimension, limit)
  end
end

--- Whether an execution was denied more of a budget at this limit, since its last replay.
function asking.is_denied(tag, id, rec, budget_id, dimension, limit)
  local last = tonumber(rec.waitpoints or 0)
  for number = last, math.max(1, last - LOOK_BACK + 1), -1 do
    local asks = waitpoints.read(tag, id, number).asks
    if asks and asks.budget == budget_id and asks.dimension == dimension then
      return (asks.denied and asks.limit == limit and asks.replays == rec.replays) or false
    end
  end
  return false
end
