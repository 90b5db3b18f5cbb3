--- How the turns of revisions end, and how long they take, in each partition: a hash per revision and
--- interval, from a letter (`o` ended well, `f` failed) and a class of latency to a number of turns.
--- The class of a latency is the whole part of 4 times its logarithm to the base 2, in ms.
--- @requires lib/core/keys
local figures = {}

local INTERVAL_MS = 10000
-- An hour can be read; the interval in which it began counts.
local READABLE = 361
local KEPT_MS = (READABLE + 1) * INTERVAL_MS
-- A turn of an hour and more.
local LAST_CLASS = 87
-- 4 / ln 2; `math` is not there yet when the library is loaded.
local CLASSES_PER_NEPER = 5.7707801635558535

local function interval_of(ms) return math.floor(ms / INTERVAL_MS) end

--- Count a turn of an execution.
function figures.add(tag, rec, took, failed, now)
  local class = took > 1 and math.floor(math.log(took) * CLASSES_PER_NEPER) or 0
  local key = keys.revision_figures(tag, rec.tenant, rec.rev, interval_of(now))
  local field = (failed and 'f' or 'o') .. math.min(class, LAST_CLASS)
  if server.call('HINCRBY', key, field, 1) == 1 then server.call('PEXPIRE', key, KEPT_MS) end
end

--- FIELD, COUNT pairs of the intervals from that of a time to that of now.
function figures.read(tag, tenant, revision, from, now)
  local first, last, sums = interval_of(from), interval_of(now), {}
  for interval = math.max(first, last - READABLE + 1), last do
    local row = server.call('HGETALL', keys.revision_figures(tag, tenant, revision, interval))
    for i = 1, #row, 2 do sums[row[i]] = (sums[row[i]] or 0) + tonumber(row[i + 1]) end
  end
  local pairs_of = {}
  for field, count in pairs(sums) do
    pairs_of[#pairs_of + 1] = field
    pairs_of[#pairs_of + 1] = count
  end
  return pairs_of
end
