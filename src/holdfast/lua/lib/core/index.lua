--- Lists and counts. Every execution is in exactly one cell, the sorted set of its
--- (tenant, lane, kind, state) by birth; a count is the size of a cell, so it cannot drift.
--- Every change of a state passes through here, so live notifications start here, too.
--- @requires lib/core/keys lib/core/record lib/stream/feed lib/deploy/needs
local index = {}

local function cell_of(rec, state) return rec.lane .. '|' .. rec.kind .. '|' .. state end

local function add(tag, tenant, cell, ...)
  local key = keys.cell(tag, tenant, cell)
  local added = server.call('ZADD', key, ...)
  if server.call('ZCARD', key) == added then
    server.call('SADD', keys.cells(tag, tenant), cell)
    server.call('SADD', keys.tenants(tag), tenant)
  end
end

local function remove(tag, tenant, cell, ...)
  local key = keys.cell(tag, tenant, cell)
  server.call('ZREM', key, ...)
  if server.call('EXISTS', key) == 1 then return end
  local cells = keys.cells(tag, tenant)
  server.call('SREM', cells, cell)
  if server.call('EXISTS', cells) == 0 then server.call('SREM', keys.tenants(tag), tenant) end
end

--- List an execution under its state.
function index.enter(tag, id, rec)
  add(tag, rec.tenant, cell_of(rec, rec.state), rec.born, id)
  if rec.rev then needs.place(tag, id, rec) end
end

--- Remove an execution from the list of a state.
function index.leave(tag, id, rec, state) remove(tag, rec.tenant, cell_of(rec, state), id) end

--- Move an execution from the list of a state to the list of its current state.
function index.move(tag, id, rec, from)
  index.enter(tag, id, rec)
  index.leave(tag, id, rec, from)
  feed.moved_one(tag, id, rec, from)
end

--- The same for several; `many` is a list of { id, rec } which all were in state `from`, or are new.
function index.move_many(tag, many, from)
  local groups = {}
  for _, one in ipairs(many) do
    local id, rec = one[1], one[2]
    local name = rec.tenant .. '|' .. cell_of(rec, rec.state)
    local group = groups[name]
    if not group then
      group = { rec = rec, size = 0, ids = {}, scored = {}, many = {} }
      groups[name] = group
    end
    local size = group.size + 1
    group.size, group.ids[size], group.many[size] = size, id, one
    group.scored[2 * size - 1], group.scored[2 * size] = rec.born, id
    if rec.rev then needs.place(tag, id, rec) end
  end
  for _, group in pairs(groups) do
    local rec = group.rec
    add(tag, rec.tenant, cell_of(rec, rec.state), unpack(group.scored))
    if from then remove(tag, rec.tenant, cell_of(rec, from), unpack(group.ids)) end
    feed.moved(tag, rec.tenant, group.many, from)
  end
end

--- Move a cohort from the list of a state to that of another; new executions come from none. Nobody follows
--- one of them, and none needs a revision.
function index.shift(tag, cohort, from, to)
  local tenant, cell = cohort.tenant, cohort.lane .. '|' .. cohort.kind .. '|'
  add(tag, tenant, cell .. to, unpack(cohort.births))
  if from then remove(tag, tenant, cell .. from, unpack(cohort.ids)) end
  feed.shifted(tag, cohort, from, to)
end

function index.add_tags(tag, id, rec, tags)
  for i = 1, #tags, 2 do
    server.call('ZADD', keys.tagged(tag, rec.tenant, tags[i], tags[i + 1]), rec.born, id)
  end
end

function index.remove_tags(tag, id, rec)
  local tags = record.tags(tag, id, rec)
  for i = 1, #tags, 2 do
    server.call('ZREM', keys.tagged(tag, rec.tenant, tags[i], tags[i + 1]), id)
  end
end
