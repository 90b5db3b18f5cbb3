--- Reading a stream: both of its logs as one, in the order of the numbers.
--- @requires lib/core/keys lib/stream/frames
local reading = {}

-- How many frames are read in one step.
local CHUNK = 32
-- A reply ends with the frame that reaches this.
local MOST_BYTES = 1048576

local function number_of(row) return tonumber((row[1]:match('^%d+'))) end

local function refill(source)
  source.rows = server.call('XRANGE', source.log, source.from, '+', 'COUNT', CHUNK)
  source.at = 1
  if #source.rows > 0 then source.from = number_of(source.rows[#source.rows]) + 1 end
end

--- The source with the next frame, or nil.
local function next_source(sources)
  local best, lowest
  for _, source in ipairs(sources) do
    if source.at > #source.rows and #source.rows == CHUNK then refill(source) end
    local row = source.rows[source.at]
    local number = row and number_of(row)
    if number and (not best or number < lowest) then
      best, lowest = source, number
    end
  end
  return best
end

--- Frames of both logs after a number, in order, at most `limit`; and 1 if more follow, else 0.
function reading.after(tag, id, after, limit)
  local sources = { { log = keys.frames(tag, id) }, { log = keys.live(tag, id), live = 'live' } }
  for _, source in ipairs(sources) do
    source.from = tonumber(after) + 1
    refill(source)
  end
  local rows, bytes = {}, 0
  while true do
    local source = next_source(sources)
    if not source then return rows, 0 end
    if #rows == tonumber(limit) or bytes >= MOST_BYTES then return rows, 1 end
    local row = source.rows[source.at]
    source.at = source.at + 1
    rows[#rows + 1] = { row[1], row[2], source.live or '' }
    bytes = bytes + #frames.payload_of(row)
  end
end
