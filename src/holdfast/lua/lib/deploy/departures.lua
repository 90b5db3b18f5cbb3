--- How many executions have stopped needing a revision, by the minute, in each partition: what foretells the
--- end of a drain. A hash per revision, from the number of a minute to a count; an hour is kept.
--- @requires lib/core/keys
local departures = {}

local MINUTE_MS = 60000
-- The minute in which the hour began counts, too.
local KEPT_MINUTES = 61

local function minute_of(ms) return math.floor(ms / MINUTE_MS) end

--- Count an execution that does not need its revision any more.
function departures.add(tag, rec, now)
  local key, minute = keys.revision_left(tag, rec.tenant, rec.rev), minute_of(now)
  if server.call('HINCRBY', key, minute, 1) > 1 then return end
  for _, field in ipairs(server.call('HKEYS', key)) do
    if tonumber(field) <= minute - KEPT_MINUTES then server.call('HDEL', key, field) end
  end
  server.call('PEXPIRE', key, KEPT_MINUTES * MINUTE_MS)
end

--- MINUTE, COUNT pairs of the last hour.
function departures.read(tag, tenant, revision, now)
  local found = {}
  local row = server.call('HGETALL', keys.revision_left(tag, tenant, revision))
  for i = 1, #row, 2 do
    if tonumber(row[i]) > minute_of(now) - KEPT_MINUTES then
      found[#found + 1] = row[i]
      found[#found + 1] = row[i + 1]
    end
  end
  return found
end
