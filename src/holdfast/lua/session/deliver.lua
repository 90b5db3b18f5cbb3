--- Deliver a message to a session: resume the execution that waits for it, buffer it for the one that
--- runs, or start one. A message whose id is known gets its first answer.
--- @key tag the partition
--- @arg id @arg activity the sender's id of the message
--- @arg kind what it is, empty for a plain message @arg payload a JSON object
--- @arg item in msgpack: options of an execution to start, and what the session's record needs
--- @arg process that reads live from now on, or empty
--- @ok EFFECT NUMBER EXECUTION DUPLICATE: EXECUTION may be empty, DUPLICATE is 1 or 0
--- @no session_busy | session_full | lane_draining | revision_draining
--- @event created | cancelled
--- @flags write
--- @requires lib/core/keys lib/core/clock lib/core/record lib/core/reply lib/core/settings
--- @requires lib/execution/finish lib/session/sessions lib/session/transcript lib/session/conversations
--- @requires lib/session/outgoing lib/deploy/needs

local EFFECTS = { s = 'started', r = 'resumed', b = 'buffered', i = 'interrupted', p = 'person' }

local FIELDS = { 'tenant', 'env', 'endpoint', 'conversation', 'user' }
local FROM_DECLARATION = { 'kind', 'busy', 'apology', 'sender' }

--- The record of a session as this message leaves it.
local function fields_of(session, item, now)
  local changes = {}
  if not session then
    for _, name in ipairs(FIELDS) do
      changes[#changes + 1] = name
      changes[#changes + 1] = item[name]
    end
    changes[#changes + 1] = 'born'
    changes[#changes + 1] = now
  end
  for _, name in ipairs(FROM_DECLARATION) do
    local value = item[name]
    if value and (not session or session[name] ~= value) then
      changes[#changes + 1] = name
      changes[#changes + 1] = value
    end
  end
  return changes
end

local function known(tag, id, session, activity)
  local number = tonumber(server.call('HGET', keys.activities(tag, id), activity) or nil)
  local entry = number and transcript.entry(tag, id, session, number)
  if not entry then return nil end
  local execution = entry.x and id .. '~' .. entry.x or ''
  return { 'ok', EFFECTS[entry.e], number, execution, 1 }
end

--- What a message will do: its effect, and the execution that has not ended.
local function decide(tag, id, session, item)
  if session and session.person then return 'p' end
  local execution = session and sessions.current(id, session)
  local rec = execution and record.read(tag, execution)
  if rec and conversations.awaits_message(rec) then return 'r', rec end
  if rec and item.busy == 'reject' then return nil, reply.no('session_busy', 'id', id) end
  if not rec or item.busy == 'interrupt' then
    local refusal = needs.refusal(tag, id, item.tenant, item.rev, execution)
    if refusal then return nil, refusal end
    if settings.lane(tag, item.lane) == 'draining' then
      return nil, reply.no('lane_draining', 'id', id, 'lane', item.lane)
    end
    return rec and 'i' or 's', rec
  end
  if server.call('LLEN', keys.buffered(tag, id)) >= conversations.MOST_BUFFERED then
    return nil, reply.no('session_full', 'id', id, 'limit', conversations.MOST_BUFFERED)
  end
  return 'b', rec
end

--- Cancel the turn that runs, so that another one starts.
local function interrupt(tag, id, session, rec, number, now)
  local execution = sessions.current(id, session)
  server.call('DEL', keys.buffered(tag, id))
  finish.now(tag, execution, rec, 'cancelled', now, {}, {
    event = 'cancelled',
    attempt = record.open_attempt(rec),
    reason = 'interrupted by message ' .. number,
  })
end

local function run(tag, args)
  local id, activity, kind, payload, _, process = unpack(args)
  local item = cmsgpack.unpack(args[5])
  local now = clock.now(tag)
  local session = sessions.read(tag, id)
  local answer = session and known(tag, id, session, activity)
  if answer then return answer end
  local effect, rec = decide(tag, id, session, item)
  if not effect then return rec end

  local changes = fields_of(session, item, now)
  session = session or {}
  if session.sender and item.sender then outgoing.move(tag, id, session, item.sender) end
  if #changes > 0 then sessions.write(tag, id, session, changes) end
  if not item.busy then sessions.clear(tag, id, session, { 'busy' }) end
  if not item.apology then sessions.clear(tag, id, session, { 'apology' }) end
  local entry = { d = 'i', p = payload, a = activity, e = effect, k = kind ~= '' and kind or nil }
  local execution = sessions.current(id, session)
  if effect == 'r' or effect == 'b' then entry.x = tonumber(session.cur) end
  if effect == 's' or effect == 'i' then entry.x = tonumber(session.n or 0) + 1 end
  local number = transcript.append(tag, id, session, entry, now)
  server.call('HSET', keys.activities(tag, id), activity, number)
  if effect == 'r' then
    conversations.deliver(tag, id, session, execution, rec, number, now)
  elseif effect == 'b' then
    server.call('RPUSH', keys.buffered(tag, id), number)
  elseif effect ~= 'p' then
    if effect == 'i' then interrupt(tag, id, session, rec, number, now) end
    execution = conversations.start(tag, id, session, item, { number }, now)
  end
  sessions.notify(tag, id, now, process)
  if process ~= '' then sessions.listen(tag, id, process, now) end
  return { 'ok', EFFECTS[effect], number, effect ~= 'p' and execution or '', 0 }
end
