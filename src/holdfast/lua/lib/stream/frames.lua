--- The stream of an execution: frames, numbered over all attempts, in two logs. The lasting log is
--- bounded by count, bytes and age; the live one holds the last seconds, so its size follows the
--- rate. A log is a Valkey stream whose ids are `NUMBER-MS`, so a frame's number and time cost
--- nothing more. What is known of both is a small hash:
---   last = number of the last frame   at = its time   attempt = the one it belongs to
---   place = how many of that attempt's frames, those that have places, were written
---   bytes, since = payloads in the lasting log, time of its oldest frame or earlier
---   live_bytes, live_since = the same of the live log   version = patches in the document
--- @requires lib/core/keys lib/core/wake
local frames = {}

local DEFAULTS = { frames = 10000, bytes = 8388608, age = 604800000 }
local LIVE = { frames = 10000, bytes = 1048576, age = 10000 }

-- How many frames are looked at in one step of trimming, and how many steps one call takes: more than
-- a batch adds, so what is left over the bounds when they are narrowed goes little by little.
local CHUNK, MOST_STEPS = 32, 100
-- A process that reads live repeats its call long before this has passed.
local TAIL_MS = 60000
local MOST_TAILS = 1000

-- What a stream has that nothing was written to.
local EMPTY = {
  __index = { last = 0, at = 0, bytes = 0, since = 0, live_bytes = 0, live_since = 0, version = 0 },
}

--- What is known of a stream; of one that does not exist yet, that it is empty.
function frames.open(tag, id)
  local stream = setmetatable({}, EMPTY)
  local flat = server.call('HGETALL', keys.stream(tag, id))
  for i = 1, #flat, 2 do stream[flat[i]] = tonumber(flat[i + 1]) end
  return stream
end

--- How much of a tenant's streams is kept.
function frames.bounds_of(tag, tenant)
  local names, fields, bounds = { 'frames', 'bytes', 'age' }, {}, {}
  for _, name in ipairs(names) do
    fields[#fields + 1] = 'stream|' .. tenant .. '|' .. name
    fields[#fields + 1] = 'stream|*|' .. name
  end
  local found = server.call('HMGET', keys.settings(tag), unpack(fields))
  for i, name in ipairs(names) do
    bounds[name] = tonumber(found[2 * i - 1] or found[2 * i] or DEFAULTS[name])
  end
  return bounds
end

--- Add a frame to the log that it belongs in.
function frames.add(tag, id, stream, now, frame)
  stream.last = stream.last + 1
  stream.at = math.max(stream.at, now)
  local log, prefix = keys.frames(tag, id), ''
  if frame.live then log, prefix = keys.live(tag, id), 'live_' end
  local number = ('%d-%d'):format(stream.last, stream.at)
  if frame.encoding ~= '' then
    server.call(
      'XADD', log, number,
      'a', frame.attempt, 't', frame.type, 'p', frame.payload, 'e', frame.encoding
    )
  else
    server.call('XADD', log, number, 'a', frame.attempt, 't', frame.type, 'p', frame.payload)
  end
  stream[prefix .. 'bytes'] = stream[prefix .. 'bytes'] + #frame.payload
  if stream[prefix .. 'since'] == 0 then stream[prefix .. 'since'] = stream.at end
end

local function time_of(row) return tonumber((row[1]:match('%d+$'))) end

--- The payload of a row of a log.
function frames.payload_of(row)
  for i = 1, #row[2], 2 do
    if row[2][i] == 'p' then return row[2][i + 1] end
  end
  return ''
end

--- Drop the oldest frames of a log until it is within its bounds.
local function trim(log, stream, prefix, bounds)
  local bytes, since, oldest = prefix .. 'bytes', prefix .. 'since', stream.at - bounds.age
  -- The log has no more frames than were ever written, so most calls need not count them.
  if stream.last <= bounds.frames and stream[bytes] <= bounds.bytes and stream[since] > oldest then return end
  local count = server.call('XLEN', log)
  for _ = 1, MOST_STEPS do
    if count == 0 then break end
    if count <= bounds.frames and stream[bytes] <= bounds.bytes and stream[since] > oldest then return end
    local dropped = 0
    for _, row in ipairs(server.call('XRANGE', log, '-', '+', 'COUNT', CHUNK)) do
      stream[since] = time_of(row)
      local fits = count <= bounds.frames and stream[bytes] <= bounds.bytes and stream[since] > oldest
      if fits then break end
      stream[bytes] = stream[bytes] - #frames.payload_of(row)
      dropped, count = dropped + 1, count - 1
    end
    server.call('XTRIM', log, 'MAXLEN', '=', count)
    if dropped < CHUNK then break end
  end
  if count == 0 then stream[since], stream[bytes] = 0, 0 end
end

--- Say that an attempt begins, unless it is the first one or that was said already.
local function mark(tag, id, stream, rec, now)
  local attempt = rec.attempts - 1
  if attempt > 0 and stream.attempt ~= attempt then
    frames.add(tag, id, stream, now, {
      type = 'attempt',
      attempt = attempt,
      encoding = '',
      payload = ('{"attempt":%d,"kind":"%s"}'):format(attempt, rec.turn or 'initial'),
    })
  end
  if stream.attempt ~= attempt then
    stream.attempt, stream.place = attempt, 0
  end
end

--- The frames whose place in the attempt is not taken: a run that continues its attempt repeats its
--- frames.
function frames.unsaid(stream, rec, given)
  local place = stream.attempt == rec.attempts - 1 and stream.place or 0
  local left = {}
  for _, frame in ipairs(given) do
    if not frame.place or frame.place > place then
      place = frame.place or place
      left[#left + 1] = frame
    end
  end
  return left
end

--- Write frames of a holder, each a table; trims the logs to the bounds of the tenant and notifies live
--- readers.
function frames.append(tag, id, stream, rec, now, added, bounds)
  if stream.live_since > 0 and server.call('EXISTS', keys.live(tag, id)) == 0 then
    stream.live_since, stream.live_bytes = 0, 0
  end
  mark(tag, id, stream, rec, now)
  for _, frame in ipairs(added) do
    stream.place = frame.place or stream.place
    frame.attempt = stream.attempt
    frames.add(tag, id, stream, now, frame)
  end
  trim(keys.frames(tag, id), stream, '', bounds)
  if stream.live_since > 0 then
    trim(keys.live(tag, id), stream, 'live_', LIVE)
    server.call('PEXPIRE', keys.live(tag, id), 2 * LIVE.age)
  end
  local fields = {}
  for name, value in pairs(stream) do
    fields[#fields + 1] = name
    fields[#fields + 1] = value
  end
  server.call('HSET', keys.stream(tag, id), unpack(fields))
  frames.tell(tag, id, now)
end

--- A new attempt of an execution that has streamed was claimed.
function frames.begin_attempt(tag, id, rec, now)
  frames.append(tag, id, frames.open(tag, id), rec, now, {}, frames.bounds_of(tag, rec.tenant))
end

--- Notify every process that reads live.
function frames.tell(tag, id, now)
  local key = keys.tails(tag, id)
  for _, process in ipairs(server.call('ZRANGE', key, now, '+inf', 'BYSCORE', 'LIMIT', 0, MOST_TAILS)) do
    wake.process(tag, process, 'frames ' .. id)
  end
end

--- Notify a process of new frames for a while.
function frames.follow(tag, id, process, now)
  local key = keys.tails(tag, id)
  server.call('ZREMRANGEBYSCORE', key, '-inf', now)
  server.call('ZADD', key, now + TAIL_MS, process)
  server.call('PEXPIRE', key, TAIL_MS)
end

--- Remove all of it.
function frames.forget(tag, id)
  server.call(
    'UNLINK', keys.stream(tag, id), keys.frames(tag, id), keys.live(tag, id),
    keys.document(tag, id), keys.tails(tag, id)
  )
end
