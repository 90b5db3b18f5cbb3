--- The facts behind "why is it not running": the execution, its lane, its place in the queue.
--- @key tag the partition
--- @arg id
--- @ok NOW, fields as name, value pairs, lane setting, ahead of it: kind, count, or empty,
--- @ok upstreams awaited: key, state
--- @no execution_not_found
--- @flags no-writes @owned execution
--- @requires lib/core/clock lib/core/record lib/core/reply lib/execution/ready lib/core/settings
--- @requires lib/graph/members lib/limit/limits lib/execution/children lib/execution/inbox

local function run(tag, args)
  local id = args[1]
  local rec, flat = record.read(tag, id)
  if not rec then return reply.no('execution_not_found', 'id', id) end
  limits.show(tag, id, rec, flat)
  children.show(tag, id, rec, flat)
  inbox.show(tag, id, rec, flat)
  local ahead = ready.ahead(tag, id, rec)
  local awaited = rec.state == 'waiting_children' and members.awaited(tag, id, rec) or {}
  return { 'ok', clock.now(tag), flat, settings.lane(tag, rec.lane) or '', ahead or '', awaited }
end
