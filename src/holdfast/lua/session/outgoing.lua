--- Take sessions with replies to send: one process at a time sends those of a session, in order.
--- @key tag the partition
--- @arg fence names this hand-out @arg lease_ms @arg limit how many sessions @arg senders their names
--- @ok SLEEP_MS until the next look or empty, then sessions: id, fields, TRIES, replies: NUMBER PACKED
--- @flags write
--- @requires lib/core/keys lib/core/clock lib/session/sessions lib/session/outgoing lib/session/described

local function take(tag, sender, wanted, answer)
  local key = keys.outgoing(tag, sender)
  local ids = server.call('ZRANGE', key, '-inf', wanted.now, 'BYSCORE', 'LIMIT', 0, wanted.limit)
  for _, id in ipairs(ids) do
    local session = sessions.read(tag, id)
    local rows = session and outgoing.pending(tag, id, session) or {}
    if #rows == 0 then
      server.call('ZREM', key, id)
    else
      server.call('ZADD', key, wanted.now + wanted.lease, id)
      sessions.write(tag, id, session, { 'fence', wanted.fence })
      answer[#answer + 1] = { id, described.fields(session), tonumber(session.tries or 0), rows }
    end
  end
end

local function run(tag, args)
  local now = clock.now(tag)
  local wanted = { now = now, fence = args[1], lease = tonumber(args[2]), limit = tonumber(args[3]) }
  local answer, nearest = { 'ok', '' }, nil
  for i = 4, #args do
    take(tag, args[i], wanted, answer)
    local first = server.call('ZRANGE', keys.outgoing(tag, args[i]), 0, 0, 'WITHSCORES')[2]
    if first then nearest = math.min(nearest or math.huge, tonumber(first)) end
  end
  if nearest then answer[2] = math.max(0, nearest - now) end
  return answer
end
