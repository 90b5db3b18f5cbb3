--- Write a reply as a person. The same key again writes it once.
--- @key tag the partition
--- @arg id @arg key @arg author @arg payload
--- @ok NUMBER PACKED
--- @no session_not_found
--- @flags write @owned session
--- @requires lib/core/keys lib/core/clock lib/core/reply lib/session/sessions lib/session/transcript
--- @requires lib/session/conversations

local function run(tag, args)
  local id, key, author, payload = unpack(args)
  local now = clock.now(tag)
  local session = sessions.read(tag, id)
  if not session then return reply.no('session_not_found', 'id', id) end
  -- Messages of users have other ids: theirs have no such first character.
  local activity = '\0' .. key
  local number = tonumber(server.call('HGET', keys.activities(tag, id), activity) or nil)
  if not number then
    number = conversations.reply(tag, id, session, { p = payload, w = author, a = activity }, now)
    server.call('HSET', keys.activities(tag, id), activity, number)
    sessions.notify(tag, id, now)
  end
  return { 'ok', number, cmsgpack.pack(transcript.entry(tag, id, session, number)) }
end
