--- The transcript of a session: a list of entries in msgpack. The entry at index 0 is number base + 1.
---   d = i, a message, o, a reply, or n, a note for operators   at = when
---   p = its payload, a JSON object that is opaque to Lua
---   k = what a message is, if it is not a plain one
---   x = the number of the execution that received or wrote it   a = the sender's id of a message
---   e = the effect of a message   t = of a reply the message that it answers, of a message that was
---     merged the last one of them   w = who wrote a reply, if not the conversation
---   open = a reply whose text is not complete   cut = one that never became complete
---   again = since when a dead reply is sent again   resent = how often it was
---   rc = what its provider reported of it since
--- @requires lib/core/keys lib/core/settings lib/core/wake lib/session/sessions lib/session/dead
local transcript = {}

transcript.MOST = 1000

-- The age of the oldest entries is looked at once in this many entries; this many go at once.
local LOOK_EVERY, CHUNK = 16, 16

local function index_of(session, number) return number - 1 - tonumber(session.base or 0) end

--- An entry by its number, or nil if it is not kept.
function transcript.entry(tag, id, session, number)
  local index = index_of(session, number)
  local packed = index >= 0 and server.call('LINDEX', keys.transcript(tag, id), index)
  return packed and cmsgpack.unpack(packed) or nil
end

--- Change an entry, if it is still kept.
function transcript.replace(tag, id, session, number, entry)
  local index = index_of(session, number)
  if index < 0 then return end
  server.call('LSET', keys.transcript(tag, id), index, cmsgpack.pack(entry))
end

--- Drop the oldest entries over the bounds, but none that was not received yet.
local function trim(tag, id, session, now)
  local key, last = keys.transcript(tag, id), tonumber(session.last)
  local base = tonumber(session.base or 0)
  local oldest = now - settings.keep(tag, session.tenant, 'session')
  local buffered = tonumber(server.call('LINDEX', keys.buffered(tag, id), 0) or last + 1)
  local dropped, unblocks = 0, false
  for index, packed in ipairs(server.call('LRANGE', key, 0, CHUNK - 1)) do
    local entry, number = cmsgpack.unpack(packed), base + index
    local over = last - number + 1 > transcript.MOST or entry.at < oldest
    if not over or number >= buffered or number == last then break end
    if entry.a then server.call('HDEL', keys.activities(tag, id), entry.a) end
    dead.remove(tag, id, session, number)
    sessions.remove_from(tag, id, session, 'again', number)
    dropped, unblocks = dropped + 1, unblocks or entry.open
  end
  if dropped > 0 then
    server.call('LTRIM', key, dropped, -1)
    sessions.write(tag, id, session, { 'base', base + dropped })
  end
  -- A reply that never became complete no longer holds up those behind it.
  if unblocks and session.sender then
    server.call('ZADD', keys.outgoing(tag, session.sender), 'NX', now, id)
    wake.senders(tag)
  end
end

--- Append an entry; returns its number.
function transcript.append(tag, id, session, entry, now)
  local number = tonumber(session.last or 0) + 1
  entry.at = now
  server.call('RPUSH', keys.transcript(tag, id), cmsgpack.pack(entry))
  sessions.write(tag, id, session, { 'last', number })
  sessions.touch(tag, id, session, now)
  if number - tonumber(session.base or 0) > transcript.MOST or number % LOOK_EVERY == 0 then
    trim(tag, id, session, now)
  end
  return number
end

--- A text as JSON.
function transcript.quoted(text)
  local escaped = text:gsub('[%c"\\]', function(char) return ('\\u%04x'):format(char:byte()) end)
  return '"' .. escaped .. '"'
end

--- A message as a conversation receives it.
function transcript.message(number, entry)
  return ('{"number":%d,"at":%d,"id":'):format(number, entry.at)
    .. transcript.quoted(entry.a)
    .. (entry.k and ',"kind":' .. transcript.quoted(entry.k) or '')
    .. ',"payload":'
    .. entry.p
    .. '}'
end

--- Up to `limit` entries after a number as NUMBER PACKED, and whether more follow.
function transcript.after(tag, id, session, after, limit)
  local base, last = tonumber(session.base or 0), tonumber(session.last or 0)
  local first = math.max(after, base) + 1
  local rows = {}
  local packed = server.call('LRANGE', keys.transcript(tag, id), first - 1 - base, first - 2 - base + limit)
  for i, value in ipairs(packed) do rows[i] = { first + i - 1, value } end
  return rows, first + #rows <= last and 1 or 0
end
