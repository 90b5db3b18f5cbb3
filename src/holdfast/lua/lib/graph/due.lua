--- What happens to a graph when its timer fires.
--- @requires lib/core/keys lib/graph/graphs lib/core/timers lib/graph/work lib/graph/sweeps
--- @requires lib/core/settings lib/execution/children
local graph_due = {}

--- Members forgotten by one firing.
local FORGOTTEN = 50

--- Remove a graph and its members, some at a time. Readers see all of it or nothing. While members wait for the
--- archive, its record stays (lib/admin/archive.lua).
local function remove(tag, id, tenant, state, now)
  -- Nobody sees what is staged, and a caller may still stage it again.
  local is_seen = state ~= 'staging'
  if is_seen then
    graphs.leave(tag, id, { tenant = tenant }, state)
    server.call('HSET', keys.graph(tag, id), 'gone', '1')
  end
  if not sweeps.forget(tag, id, FORGOTTEN) then return timers.set(tag, 'g:' .. id, now, now) end
  server.call('ZREM', keys.timers(tag), 'g:' .. id)
  server.call(
    'UNLINK',
    keys.graph_members(tag, id),
    keys.graph_edges(tag, id),
    keys.graph_work(tag, id),
    keys.graph_walks(tag, id),
    keys.graph_log(tag, id),
    keys.graph_watchers(tag, id)
  )
  local held = tonumber(server.call('HGET', keys.graph(tag, id), 'held') or 0)
  if held <= 0 then server.call('UNLINK', keys.graph(tag, id)) end
end

local function passed(instant, now) return instant and tonumber(instant) <= now end

--- When to look again at a graph of a task whose retention is over, or nil if it can be removed.
local function kept_until(tag, id, now)
  local graph = graphs.read(tag, id)
  if not graph then return nil end
  local keep = graph.keep or settings.keep(tag, graph.tenant, graph.state)
  return children.kept_until(tag, id, graph.tenant, keep, now)
end

--- Fire the timer of a graph: continue its work, or do what is due. Returns the amount of work done.
function graph_due.fire(tag, id, now)
  local found = server.call(
    'HMGET', keys.graph(tag, id), 'state', 'due', 'deadline', 'ended', 'expired', 'tenant'
  )
  local state, due, deadline, ended, expired, tenant = unpack(found)
  if not state then
    server.call('ZREM', keys.timers(tag), 'g:' .. id)
  elseif work.is_parked(tag, id) then
    local list = work.new(tag, id, now, work.BY_TIMER)
    work.run(list, true)
    return work.BY_TIMER - list.left
  elseif (state == 'staging' or ended) and passed(due, now) then
    local later = kept_until(tag, id, now)
    if not later then
      remove(tag, id, tenant, state, now)
      return FORGOTTEN
    end
    server.call('HSET', keys.graph(tag, id), 'due', later)
    timers.set(tag, 'g:' .. id, later, now)
  elseif not ended and not expired and passed(deadline, now) then
    server.call('HSET', keys.graph(tag, id), 'expired', '1', 'mute', 'all')
    graphs.note(tag, id, { at = now, event = 'expired' })
    work.sweep(work.new(tag, id, now, work.BY_TIMER), 'expire')
    return work.BY_TIMER
  else
    graphs.arm(tag, id, { due = due, deadline = deadline, ended = ended, expired = expired }, now)
  end
  return 1
end
