--- The outcome of an execution; if it has not ended, notify this process when it does.
--- @key tag the partition
--- @arg id @arg process its mailbox, or empty to only read
--- @ok STATE, and of a terminal execution: result, content type, the log entry of its end
--- @no execution_not_found
--- @flags allow-oom @owned execution
--- @requires lib/core/keys lib/core/record lib/core/log lib/core/reply

local function run(tag, args)
  local id, process = unpack(args)
  local rec = record.read(tag, id)
  if not rec then return reply.no('execution_not_found', 'id', id) end
  if record.is_terminal(rec.state) then
    local result = rec.state == 'completed' and record.result(tag, id, rec) or ''
    return { 'ok', rec.state, result, rec.content_type or '', log.ending(tag, id, rec) }
  end
  if process ~= '' then
    server.call('SADD', keys.watchers(tag, id), process)
    if not rec.watched then record.write(tag, id, rec, { 'watched', '1' }) end
  end
  return { 'ok', rec.state }
end
