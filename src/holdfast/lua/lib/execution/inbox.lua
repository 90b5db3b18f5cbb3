--- The inbox of an execution: signals to the execution itself, which its code receives one by one.
---   unread     a list of `NUMBER NAME`, in the order of arrival
---   mail       a hash of number to signal: at, name, payload, type, identity, key, correlation, effect
---   mail_keys  a sorted set of `k:KEY` and `r:REQUEST` by number: the newest, to recognize repetitions
--- Its record has `mail`, how many came so far; `mail_bytes`, the size of those that are unread; and
--- `listener`, the process that waits for the next one, or `listens`, the names of signals for which an
--- execution without a lease waits. A signal that is received becomes a step.
--- @requires lib/core/keys lib/core/record lib/waitpoint/conditions
local inbox = {}

--- How many signals, and bytes of payloads, may be unread.
inbox.MOST, inbox.MOST_BYTES = 1000, 8 * 1024 * 1024

local REMEMBERED = 20000

--- Whether a signal with this key, or by this call, came before: `buffered` for the same call, `duplicate` for
--- another one, else nil; and its number.
function inbox.known(tag, id, key, request)
  local numbers = server.call('ZMSCORE', keys.mail_keys(tag, id), 'r:' .. request, 'k:' .. key)
  if numbers[1] then return 'buffered', tonumber(numbers[1]) end
  if key ~= '' and numbers[2] then return 'duplicate', tonumber(numbers[2]) end
end

function inbox.is_full(tag, id, rec, bytes)
  return tonumber(rec.mail_bytes or 0) + bytes > inbox.MOST_BYTES
    or server.call('LLEN', keys.unread(tag, id)) >= inbox.MOST
end

--- Add a signal; returns its number.
function inbox.add(tag, id, rec, signal, request)
  local number = tonumber(rec.mail or 0) + 1
  server.call('RPUSH', keys.unread(tag, id), number .. ' ' .. signal.name)
  server.call('HSET', keys.mail(tag, id), number, cmsgpack.pack(signal))
  local memory = keys.mail_keys(tag, id)
  server.call('ZADD', memory, number, 'r:' .. request)
  if signal.key then server.call('ZADD', memory, number, 'k:' .. signal.key) end
  server.call('ZREMRANGEBYRANK', memory, 0, -REMEMBERED - 1)
  local bytes = tonumber(rec.mail_bytes or 0) + #signal.payload
  record.write(tag, id, rec, { 'mail', number, 'mail_bytes', bytes })
  return number
end

--- The number and the packed value of the first unread signal with one of the names, or nil. No names mean any.
function inbox.first(tag, id, names)
  if #names == 0 then names = nil end
  for _, entry in ipairs(server.call('LRANGE', keys.unread(tag, id), 0, -1)) do
    local number, name = entry:match('^(%d+) (.*)$')
    if conditions.named(names, name) then return number, server.call('HGET', keys.mail(tag, id), number) end
  end
end

--- Remove an unread signal. Returns whether it was there.
function inbox.remove(tag, id, rec, number)
  local packed = server.call('HGET', keys.mail(tag, id), number)
  if not packed then return false end
  local signal = cmsgpack.unpack(packed)
  server.call('HDEL', keys.mail(tag, id), number)
  server.call('LREM', keys.unread(tag, id), 1, number .. ' ' .. signal.name)
  record.write(tag, id, rec, { 'mail_bytes', tonumber(rec.mail_bytes) - #signal.payload })
  return true
end

--- Whether an execution has returned its lease to wait for a signal of this name.
function inbox.awaits(rec, name)
  if rec.state ~= 'delayed' or rec.hold ~= 'signal' then return false end
  local names
  for wanted in (rec.listens or ''):gmatch('[^,]+') do
    names = names or {}
    names[#names + 1] = wanted
  end
  return conditions.named(names, name)
end

--- Add to the flat fields of a record how many signals are unread.
function inbox.show(tag, id, rec, flat)
  if not rec.mail then return end
  flat[#flat + 1] = 'unread'
  flat[#flat + 1] = tostring(server.call('LLEN', keys.unread(tag, id)))
end

--- The unread signals, packed, in the order of arrival.
function inbox.all(tag, id)
  local packed = {}
  for _, entry in ipairs(server.call('LRANGE', keys.unread(tag, id), 0, -1)) do
    packed[#packed + 1] = server.call('HGET', keys.mail(tag, id), entry:match('^%d+'))
  end
  return packed
end
