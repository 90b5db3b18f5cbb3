--- Everything about an execution except its input, result, steps and history.
--- @key tag the partition
--- @arg id
--- @ok fields as name, value pairs, tags, progress message, the log entry of its end
--- @no execution_not_found
--- @flags no-writes @owned execution
--- @requires lib/core/keys lib/core/record lib/core/log lib/core/reply lib/limit/limits
--- @requires lib/execution/children lib/execution/inbox

local function run(tag, args)
  local id = args[1]
  local rec, flat = record.read(tag, id)
  if not rec then return reply.no('execution_not_found', 'id', id) end
  limits.show(tag, id, rec, flat)
  children.show(tag, id, rec, flat)
  inbox.show(tag, id, rec, flat)
  local tags = rec.tagged and cmsgpack.pack(record.tags(tag, id, rec)) or ''
  local note = rec.pct and server.call('GET', keys.note(tag, id)) or ''
  return { 'ok', flat, tags, note, log.ending(tag, id, rec) }
end
