--- Short history for charts, in the global partition. A series is a list of rows of text, `BUCKET FIGURE ...`:
--- one of 5 s for an hour and one of 5 min for a week. Figures are levels, of which a row has the highest, and
--- counts, of which a row has the growth.
--- @requires lib/core/keys
local history = {}

--- How long a row is, in ms, and how many rows are kept.
history.STEPS = { hour = { 5000, 720 }, week = { 300000, 2016 } }

local function numbers_of(text)
  local numbers = {}
  for word in text:gmatch('%S+') do numbers[#numbers + 1] = tonumber(word) end
  return numbers
end

local function text_of(bucket, figures)
  local words = { ('%.0f'):format(bucket) }
  for i, figure in ipairs(figures) do words[i + 1] = ('%.0f'):format(figure) end
  return table.concat(words, ' ')
end

--- The figures of a sample: levels as they are, counts less what they were, which is remembered.
function history.figures(tag, series, levels, sample)
  local now, key = numbers_of(sample), keys.history_counts(tag)
  local before = server.call('HGET', key, series)
  server.call('HSET', key, series, sample)
  local last = before and numbers_of(before) or now
  for i = levels + 1, #now do now[i] = math.max(0, now[i] - (last[i] or now[i])) end
  return now
end

--- Add figures to the row of now, a new one or the last.
function history.add(tag, span, series, levels, figures, now)
  local length, most = unpack(history.STEPS[span])
  local key, bucket = keys.history(tag, span, series), math.floor(now / length)
  local row = numbers_of(server.call('LINDEX', key, -1) or '')
  if row[1] ~= bucket then
    server.call('RPUSH', key, text_of(bucket, figures))
    server.call('LTRIM', key, -most, -1)
  else
    local sums = {}
    for i, figure in ipairs(figures) do
      local other = row[i + 1] or 0
      sums[i] = i > levels and other + figure or math.max(other, figure)
    end
    server.call('LSET', key, -1, text_of(bucket, sums))
  end
  server.call('PEXPIRE', key, length * most)
end
