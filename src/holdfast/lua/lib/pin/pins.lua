--- The pins of a scope (env, deployment and tenant):
---   pins       hash, session -> REVISION|GENERATION|TTL
---   pin_ends   sorted set, session -> when its pin expires, in ms
--- The sorted set alone says which pins live. The TTL of both keys only removes abandoned scopes.
--- @requires lib/core/keys
local pins = {}

-- Bounds the work of one call; the next one continues.
local MOST_REMOVED = 100
-- Larger numbers are not exact.
local MOST_DIGITS = 15
-- A pin is renewed when this part of its TTL has passed, so that most hits write nothing.
local RENEW_AFTER = 0.1
-- Scopes are removed by the server's clock, which may run ahead of the time that pins are judged by.
local SPARE_MS = 60000

local function decode(text)
  local revision, generation, ttl = text:match('^([^|]+)|(%d+)|(%d+)$')
  if not revision or #generation > MOST_DIGITS or #ttl > MOST_DIGITS then return nil end
  return { revision = revision, generation = tonumber(generation), ttl = tonumber(ttl) }
end

--- The live pin of a session; without one nil, and `true` if a live pin cannot be decoded.
function pins.read(tag, scope, session, now)
  local ends = tonumber(server.call('ZSCORE', keys.pin_ends(tag, scope), session) or now)
  if ends <= now then return nil, false end
  local pin = decode(server.call('HGET', keys.pins(tag, scope), session) or '')
  if pin then pin.ends = ends end
  return pin, pin == nil
end

--- Whether a router at `generation` leaves the pin alone. Its `roster` has REVISION=SINCE for each
--- revision that takes new sessions, separated by spaces. A pin of a later generation was written by
--- a router that knows more, which also judges it.
function pins.holds(pin, generation, roster)
  if pin.generation > generation then return true end
  for revision, since in roster:gmatch('([^= ]+)=(%d+)') do
    if revision == pin.revision then return tonumber(since) <= pin.generation end
  end
  return false
end

--- Keep both keys for as long as their last pin.
local function outlive(tag, scope, ttl)
  local ends = keys.pin_ends(tag, scope)
  if server.call('PTTL', ends) >= ttl then return end
  server.call('PEXPIRE', ends, 2 * ttl + SPARE_MS)
  server.call('PEXPIRE', keys.pins(tag, scope), 2 * ttl + SPARE_MS)
end

--- Write a pin, new or in place of another.
function pins.write(tag, scope, session, pin, now)
  local text = pin.revision .. '|' .. pin.generation .. '|' .. pin.ttl
  server.call('HSET', keys.pins(tag, scope), session, text)
  server.call('ZADD', keys.pin_ends(tag, scope), now + pin.ttl, session)
  outlive(tag, scope, pin.ttl)
end

--- Renew a pin whose session was seen. A router never renews a pin of a later generation.
function pins.renew(tag, scope, session, pin, generation, now)
  local left = pin.ends - now
  -- More than the TTL is left after the clock of the server was set back.
  local is_fresh = left > pin.ttl * (1 - RENEW_AFTER) and left <= pin.ttl
  if is_fresh or pin.generation > generation then return end
  server.call('ZADD', keys.pin_ends(tag, scope), now + pin.ttl, session)
  outlive(tag, scope, pin.ttl)
end

--- How many pins live.
function pins.count(tag, scope, now)
  return server.call('ZCOUNT', keys.pin_ends(tag, scope), '(' .. now, '+inf')
end

--- Remove the pins of some sessions.
function pins.remove(tag, scope, sessions)
  if #sessions == 0 then return end
  server.call('HDEL', keys.pins(tag, scope), unpack(sessions))
  server.call('ZREM', keys.pin_ends(tag, scope), unpack(sessions))
end

--- Remove expired pins.
function pins.trim(tag, scope, now)
  local ends = keys.pin_ends(tag, scope)
  pins.remove(tag, scope, server.call('ZRANGEBYSCORE', ends, '-inf', now, 'LIMIT', 0, MOST_REMOVED))
end

--- Remove the live pins that expire first.
function pins.evict(tag, scope, count, now)
  local ends = keys.pin_ends(tag, scope)
  count = math.min(count, MOST_REMOVED)
  pins.remove(tag, scope, server.call('ZRANGEBYSCORE', ends, '(' .. now, '+inf', 'LIMIT', 0, count))
end
