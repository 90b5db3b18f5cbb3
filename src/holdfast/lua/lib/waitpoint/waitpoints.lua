--- Waitpoints: numbered per execution, in one hash of packed values.
---   name, made, stamp    what and since when        until   when it closes by itself
---   state                pending (prepared), open (part of a wait), closed (why: its reason)
---   names, answerers     which signals and sources it accepts; absent: all
---   personal             each of the answerers has a token, which says who answers
---   uses, used           how many signals by token it accepts, and got
---   schema, title        opaque to Lua: checked and shown by the caller
---   on_open              the address of the webhook that announces it, opaque to Lua
---   held                 numbers of the signals that came before the wait
---   asks                 of one that asks for more of a budget, see lib/waitpoint/asking.lua
--- @requires lib/core/keys lib/core/record lib/core/timers lib/core/stamps lib/limit/outbox
--- @requires lib/stream/feed
local waitpoints = {}

--- A conversation may wait many times; its closed waitpoints are kept to answer late senders.
waitpoints.MOST = 10000

--- Ids contain the execution, so that a signal finds its partition.
function waitpoints.id(id, number) return ('%s~w%d'):format(id, number) end

function waitpoints.parse(waitpoint_id)
  local id, number = waitpoint_id:match('^(.+)~w(%d+)$')
  return id, tonumber(number)
end

function waitpoints.read(tag, id, number)
  local packed = server.call('HGET', keys.waitpoints(tag, id), number)
  return packed and cmsgpack.unpack(packed)
end

function waitpoints.write(tag, id, number, point)
  server.call('HSET', keys.waitpoints(tag, id), number, cmsgpack.pack(point))
end

-- Beside the waitpoints: the numbers of those that can be answered.
local LIVING = 'living'

local function living_numbers(tag, id)
  local numbers = {}
  local listed = server.call('HGET', keys.waitpoints(tag, id), LIVING) or ''
  for number in listed:gmatch('%d+') do numbers[#numbers + 1] = tonumber(number) end
  return numbers
end

local function set_living(tag, id, numbers)
  server.call('HSET', keys.waitpoints(tag, id), LIVING, table.concat(numbers, ','))
end

--- Those that can be answered, as { number, point }.
function waitpoints.living(tag, id)
  local found = {}
  for _, number in ipairs(living_numbers(tag, id)) do
    found[#found + 1] = { number, waitpoints.read(tag, id, number) }
  end
  return found
end

--- List new ones as living.
function waitpoints.enlist(tag, id, added)
  local numbers = living_numbers(tag, id)
  for _, number in ipairs(added) do numbers[#numbers + 1] = number end
  set_living(tag, id, numbers)
end

--- Add one; `spec` has the fields above that its maker decides. Returns its number and itself. A
--- caller with many collects them in `added` and lists them at the end, because the list may be long.
function waitpoints.add(tag, id, rec, spec, state, now, added)
  local number = tonumber(rec.waitpoints or 0) + 1
  local stamp = stamps.next(tag, now)
  stamps.take(tag, stamp)
  spec.state, spec.made, spec.stamp = state, now, stamp
  if spec.asks then spec.asks.replays = rec.replays end
  if spec.expires then
    spec['until'], spec.expires = now + spec.expires, nil
    timers.set(tag, 'w:' .. waitpoints.id(id, number), spec['until'], now)
  end
  waitpoints.write(tag, id, number, spec)
  record.write(tag, id, rec, { 'waitpoints', number })
  if added then
    added[#added + 1] = number
  else
    waitpoints.enlist(tag, id, { number })
  end
  for _, tenant in ipairs({ rec.tenant, '' }) do
    server.call('ZADD', keys.open_waitpoints(tag, tenant), stamp, waitpoints.id(id, number))
  end
  feed.noted(tag, rec.tenant, 'waitpoint', waitpoints.id(id, number), 'created', 'execution', id)
  if spec.on_open then outbox.put(tag, now, 'h', waitpoints.id(id, number)) end
  return number, spec
end

--- Close one that stays listed as living.
local function shut(tag, id, rec, number, point, now, why)
  point.state, point.closed, point.why, point.held = 'closed', now, why, nil
  waitpoints.write(tag, id, number, point)
  local waitpoint_id = waitpoints.id(id, number)
  if point['until'] then server.call('ZREM', keys.timers(tag), 'w:' .. waitpoint_id) end
  for _, tenant in ipairs({ rec.tenant, '' }) do
    server.call('ZREM', keys.open_waitpoints(tag, tenant), waitpoint_id)
  end
  feed.noted(tag, rec.tenant, 'waitpoint', waitpoint_id, 'closed', 'execution', id)
end

--- Close one that is not closed; late senders and readers get `why`.
function waitpoints.close(tag, id, rec, number, point, now, why)
  shut(tag, id, rec, number, point, now, why)
  local numbers = {}
  for _, other in ipairs(living_numbers(tag, id)) do
    if other ~= number then numbers[#numbers + 1] = other end
  end
  set_living(tag, id, numbers)
end

--- Close all that are left when their execution ends.
function waitpoints.close_all(tag, id, rec, now)
  local left = waitpoints.living(tag, id)
  if #left == 0 then return end
  for _, one in ipairs(left) do shut(tag, id, rec, one[1], one[2], now, 'ended') end
  set_living(tag, id, {})
end

--- Whether it can be answered now; its timer may be late.
function waitpoints.lives(point, now)
  return point.state ~= 'closed' and not (point['until'] and point['until'] <= now)
end

--- Fire the timer of a waitpoint.
function waitpoints.expire(tag, waitpoint_id, now)
  local id, number = waitpoints.parse(waitpoint_id)
  local rec = record.read(tag, id)
  local point = rec and waitpoints.read(tag, id, number)
  if point and point.state ~= 'closed' then
    waitpoints.close(tag, id, rec, number, point, now, 'expired')
  else
    server.call('ZREM', keys.timers(tag), 'w:' .. waitpoint_id)
  end
end
