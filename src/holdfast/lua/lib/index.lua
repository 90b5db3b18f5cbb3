--- Lists and counts. Every execution is in exactly one cell, the sorted set of its
--- (tenant, lane, kind, state) by birth; a count is the size of a cell, so it cannot drift.
--- @requires lib/keys lib/record
local index = {}

local function cell_of(rec, state) return rec.lane .. '|' .. rec.kind .. '|' .. state end

function index.enter(tag, id, rec)
  local cell = cell_of(rec, rec.state)
  local key = keys.cell(tag, rec.tenant, cell)
  server.call('ZADD', key, rec.born, id)
  if server.call('ZCARD', key) == 1 then
    server.call('SADD', keys.cells(tag, rec.tenant), cell)
    server.call('SADD', keys.tenants(tag), rec.tenant)
  end
end

function index.leave(tag, id, rec, state)
  local cell = cell_of(rec, state)
  local key = keys.cell(tag, rec.tenant, cell)
  server.call('ZREM', key, id)
  if server.call('EXISTS', key) == 0 then
    local cells = keys.cells(tag, rec.tenant)
    server.call('SREM', cells, cell)
    if server.call('EXISTS', cells) == 0 then server.call('SREM', keys.tenants(tag), rec.tenant) end
  end
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
