--- Frames of an execution after a number, and its outcome; until it has ended, notify this process of
--- further frames and of the end. A process repeats the call before a minute has passed.
--- @key tag the partition
--- @arg id @arg process its mailbox @arg after number of a frame @arg limit
--- @ok frames, MORE as 1 or 0, TENANT STATE ATTEMPT LAST: the last attempt, the last frame's number
--- @ok of a terminal execution also: when it ended, the log entry of its end
--- @no execution_not_found
--- @flags allow-oom @owned execution
--- @requires lib/core/keys lib/core/clock lib/core/record lib/core/reply lib/core/log
--- @requires lib/stream/frames lib/stream/reading

local function run(tag, args)
  local id, process, after, limit = unpack(args)
  local now = clock.now(tag)
  local rec = record.read(tag, id)
  if not rec then return reply.no('execution_not_found', 'id', id) end
  local rows, more = reading.after(tag, id, after, limit)
  local last = tonumber(server.call('HGET', keys.stream(tag, id), 'last') or 0)
  local attempt = math.max(0, tonumber(rec.attempts or 0) - 1)
  local found = { 'ok', rows, more, rec.tenant, rec.state, attempt, last }
  if record.is_terminal(rec.state) then
    found[#found + 1] = tonumber(rec.ended)
    found[#found + 1] = log.ending(tag, id, rec)
    return found
  end
  frames.follow(tag, id, process, now)
  server.call('SADD', keys.watchers(tag, id), process)
  if not rec.watched then record.write(tag, id, rec, { 'watched', '1' }) end
  return found
end
