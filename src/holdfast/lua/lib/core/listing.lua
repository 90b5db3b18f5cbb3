--- Newest-first listing over several sorted sets by birth, touching little more than it returns.
--- @requires lib/core/keys lib/core/record
local listing = {}

local CHUNK = 16
-- A tag combined with other filters may examine rows that do not match; this bounds one call.
local MOST_LOOKS = 10000

local function tenants_of(tag, tenant)
  if tenant ~= '' then return { tenant } end
  return server.call('SMEMBERS', keys.tenants(tag))
end

--- The sets of the cells that match.
function listing.cells(tag, wanted)
  local sources = {}
  for _, tenant in ipairs(tenants_of(tag, wanted.tenant)) do
    for _, cell in ipairs(server.call('SMEMBERS', keys.cells(tag, tenant))) do
      local lane, kind, state = cell:match('^([^|]*)|([^|]*)|([^|]*)$')
      local matches = (wanted.lane == '' or wanted.lane == lane)
        and (wanted.kind == '' or wanted.kind == kind)
        and (wanted.state == '' or wanted.state == state)
      if matches then sources[#sources + 1] = { key = keys.cell(tag, tenant, cell) } end
    end
  end
  return sources
end

--- The sets of a tag, one per tenant.
function listing.tagged(tag, tenant, name, value)
  local sources = {}
  for _, one in ipairs(tenants_of(tag, tenant)) do
    sources[#sources + 1] = { key = keys.tagged(tag, one, name, value) }
  end
  return sources
end

local function refill(source, since, before)
  source.rows = server.call(
    'ZRANGE', source.key, '(' .. (source.last or before), since,
    'BYSCORE', 'REV', 'LIMIT', 0, CHUNK, 'WITHSCORES'
  )
  source.at = 1
  source.last = source.rows[#source.rows]
end

--- The next id and birth over all sources, or nil.
local function newest(sources, since, before)
  local best, best_born
  for _, source in ipairs(sources) do
    if not source.rows or (source.at > #source.rows and #source.rows > 0) then refill(source, since, before) end
    local born = tonumber(source.rows[source.at + 1])
    if born and (not best or born > best_born) then
      best, best_born = source, born
    end
  end
  if not best then return nil end
  local id, born = best.rows[best.at], best.rows[best.at + 1]
  best.at = best.at + 2
  return id, born
end

local function fits(rec, wanted)
  for name, value in pairs(wanted) do
    if value ~= '' and rec[name] ~= value then return false end
  end
  return true
end

--- Up to `limit` rows that match, and the stamp to continue before if more may follow.
function listing.merge(tag, sources, wanted, since, before, limit)
  local rows, stamp = {}, nil
  for _ = 1, MOST_LOOKS do
    local id, born = newest(sources, since, before)
    if not id then return rows, nil end
    if #rows == limit then return rows, stamp end
    stamp = born
    local rec = record.read(tag, id)
    if rec and fits(rec, wanted) then
      local tags = rec.tagged and cmsgpack.pack(record.tags(tag, id, rec)) or ''
      rec.input, rec.result, rec.tags = nil, nil, nil
      local fields = {}
      for name, value in pairs(rec) do
        fields[#fields + 1] = name
        fields[#fields + 1] = value
      end
      rows[#rows + 1] = { id, fields, tags }
    end
  end
  return rows, stamp
end
