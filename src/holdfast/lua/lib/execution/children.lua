--- Children: an execution that a task submits has the id PARENT~REPLAY.NUMBER, so it lives in the
--- partition of its parent, which lists it while both are kept.
---
--- A child may be bound to its parent: its record, or that of a graph of a task, has `bond`, which is cancel
--- or fail_parent. While both run, the sorted set `bonds` of the parent contains it, and the record of the
--- parent has `bonds`. lib/execution/bonds.lua does what follows when one of them ends.
--- @requires lib/core/keys lib/core/record
local children = {}

-- Numbers of children that each start of a continued execution has for itself, as worker/children.py gives them.
local BETWEEN = 100000
local LOOK_AGAIN_MS = 3600000

--- The parent that an id names, or nil.
function children.parent_of(id)
  if not id:find('~', 1, true) then return nil end
  return id:match('^(.+)~%d+%.%d+$')
end

--- List a new execution under its parent, if its id names one of the same tenant.
function children.add(tag, id, rec)
  local parent = children.parent_of(id)
  if not parent or record.get(tag, parent, 'tenant')[1] ~= rec.tenant then return end
  rec.child = 1
  server.call('ZADD', keys.children(tag, parent), rec.born, id)
end

--- Remove an execution from the list of its parent.
function children.remove(tag, id, rec)
  if rec.child then server.call('ZREM', keys.children(tag, children.parent_of(id)), id) end
end

--- The parent of a child or of a graph of a task, and the replay of the parent that submitted it.
local function origin(id) return id:match('^(.+)~(%d+)%.g?%d+$') end

--- The tenant of the parent of a child or a graph, if the parent runs as in the replay that the id names.
function children.running_for(tag, id)
  local parent, replay = origin(id)
  if not parent then return nil end
  local found = record.get(tag, parent, 'tenant', 'state', 'replays')
  local runs = found[2] and not record.is_terminal(found[2]) and (found[3] or '0') == replay
  return runs and found[1] or nil
end

--- Whether a child can be bound: its parent is of the same tenant and runs, as in the replay that its id names.
function children.can_bind(tag, id, tenant) return children.running_for(tag, id) == tenant end

--- When to look again whether a child, or a graph of a task, can be removed. Nil if it can be now: otherwise
--- a later attempt of its parent looks for it, and would submit it again.
function children.kept_until(tag, id, tenant, keep, now)
  if not children.can_bind(tag, id, tenant) then return nil end
  local parent, number = id:match('^(.+)~%d+%.g?(%d+)$')
  local continued = tonumber(record.get(tag, parent, 'continued')[1] or 0)
  if tonumber(number) <= continued * BETWEEN then return nil end
  return now + math.max(tonumber(keep), LOOK_AGAIN_MS)
end

--- Bind a child to its parent; `score` orders the children of one parent.
function children.bind(tag, id, score)
  local parent = origin(id)
  server.call('ZADD', keys.bonds(tag, parent), score, id)
  record.mark(tag, parent, 'bonds')
end

--- Release a child from its parent. Returns the parent, or nil if the child was not bound.
function children.release(tag, id)
  local parent = origin(id)
  return server.call('ZREM', keys.bonds(tag, parent), id) == 1 and parent or nil
end

--- Add to the flat fields of a record how many children and graphs are bound to it.
function children.show(tag, id, rec, flat)
  if not rec.bonds then return end
  flat[#flat + 1] = 'bound'
  flat[#flat + 1] = tostring(server.call('ZCARD', keys.bonds(tag, id)))
end
