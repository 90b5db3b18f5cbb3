--- Children: an execution that a task submits has the id PARENT~REPLAY.NUMBER, so it lives in the
--- partition of its parent, which lists it while both are kept.
--- @requires lib/core/keys
local children = {}

--- The parent that an id names, or nil.
function children.parent_of(id)
  if not id:find('~', 1, true) then return nil end
  return id:match('^(.+)~%d+%.%d+$')
end

--- List a new execution under its parent, if its id names one of the same tenant.
function children.add(tag, id, rec)
  local parent = children.parent_of(id)
  if not parent or server.call('HGET', keys.record(tag, parent), 'tenant') ~= rec.tenant then return end
  rec.child = 1
  server.call('ZADD', keys.children(tag, parent), rec.born, id)
end

--- Remove an execution from the list of its parent.
function children.remove(tag, id, rec)
  if rec.child then server.call('ZREM', keys.children(tag, children.parent_of(id)), id) end
end
