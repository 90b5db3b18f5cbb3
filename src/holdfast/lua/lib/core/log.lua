--- The log of an execution: what happened to it, oldest first. It also holds the answers of calls
--- that ended an attempt, so that a call repeated after a lost reply gets its first answer.
---
--- Most executions are created, claimed once and completed. These three events are not written but
--- derived from the record: the birth; the claim, until another event happens (`claimed` is its time);
--- the completion, until a replay. So an execution without incidents has no log at all.
--- @requires lib/core/keys lib/core/record
local log = {}

-- A reclaimed or delayed execution may live for years; only its recent past is kept.
local LONGEST = 1000

local function claim_of(rec)
  return {
    at = tonumber(rec.claimed),
    event = 'claimed',
    attempt = rec.attempts - 1,
    epoch = tonumber(rec.epoch),
    worker = rec.worker,
    kind = rec.turn,
  }
end

local function completion_of(rec)
  return { at = tonumber(rec.ended), event = 'completed', attempt = rec.attempts - 1, fence = rec.fence }
end

--- Append an entry; `entry` must have `at` and `event`.
function log.append(tag, id, rec, entry)
  local key = keys.log(tag, id)
  if rec.claimed then
    server.call('RPUSH', key, cmsgpack.pack(claim_of(rec)))
    record.clear(tag, id, rec, { 'claimed' })
  end
  if server.call('RPUSH', key, cmsgpack.pack(entry)) > LONGEST then
    server.call('LTRIM', key, -LONGEST, -1)
  end
end

--- Write the entry of a completion before the record loses it.
function log.keep_completion(tag, id, rec)
  if rec.state == 'completed' then log.append(tag, id, rec, completion_of(rec)) end
end

--- All entries, packed, including those derived from the record.
function log.all(tag, id, rec)
  local packed = server.call('LRANGE', keys.log(tag, id), 0, -1)
  if rec.claimed then packed[#packed + 1] = cmsgpack.pack(claim_of(rec)) end
  if rec.state == 'completed' then packed[#packed + 1] = cmsgpack.pack(completion_of(rec)) end
  return packed
end

--- The packed entry that says why an execution ended, empty if it completed or has not ended.
function log.ending(tag, id, rec)
  if rec.state == 'completed' or not record.is_terminal(rec.state) then return '' end
  return server.call('LINDEX', keys.log(tag, id), -1)
end

--- The newest entry with these values, or nil.
function log.find(tag, id, rec, wanted)
  local packed = log.all(tag, id, rec)
  for i = #packed, 1, -1 do
    local entry = cmsgpack.unpack(packed[i])
    local same = true
    for name, value in pairs(wanted) do same = same and entry[name] == value end
    if same then return entry end
  end
  return nil
end
