--- What explains why an execution is not running.
--- @requires lib/core/record lib/execution/ready lib/core/settings lib/graph/members lib/limit/limits
--- @requires lib/execution/children lib/execution/inbox
local facts = {}

--- Its fields as name, value pairs; the setting of its lane; ahead of it: kind, count, or empty; upstreams
--- awaited: key, state. Nil if there is no such execution.
function facts.of(tag, id)
  local rec, flat = record.read(tag, id)
  if not rec then return nil end
  limits.show(tag, id, rec, flat)
  children.show(tag, id, rec, flat)
  inbox.show(tag, id, rec, flat)
  local awaited = rec.state == 'waiting_children' and members.awaited(tag, id, rec) or {}
  return { flat, settings.lane(tag, rec.lane) or '', ready.ahead(tag, id, rec) or '', awaited }
end
