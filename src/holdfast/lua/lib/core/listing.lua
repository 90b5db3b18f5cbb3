--- Listing over several sorted sets by birth, touching little more than it returns. `wanted` are the filters:
--- tenant, lane, kind, kind_prefix, error_type, id_prefix and text, each may be empty; states, a set, or nil;
--- minted_prefix, how minted ids may start instead, or nil.
--- @requires lib/core/keys lib/core/record lib/core/causes
local listing = {}

local CHUNK = 16
-- Filters without an index may examine rows that do not match; these bound one call.
local MOST_LOOKS = 10000
local MOST_READS = 2000

--- The set of words that commas separate; nil if there are none.
function listing.set(text)
  if text == '' then return nil end
  local set = {}
  for word in text:gmatch('[^,]+') do set[word] = true end
  return set
end

local function tenants_of(tag, tenant)
  if tenant ~= '' then return { tenant } end
  return server.call('SMEMBERS', keys.tenants(tag))
end

local function starts(text, prefix) return text:sub(1, #prefix) == prefix end

local function has_start(wanted, id)
  return starts(id, wanted.id_prefix) or wanted.minted_prefix ~= nil and starts(id, wanted.minted_prefix)
end

local function is_kind(wanted, kind)
  return (wanted.kind == '' or wanted.kind == kind) and starts(kind, wanted.kind_prefix)
end

--- The sets of the cells that match.
function listing.cells(tag, wanted)
  local sources = { exact = wanted.error_type == '' }
  for _, tenant in ipairs(tenants_of(tag, wanted.tenant)) do
    for _, cell in ipairs(server.call('SMEMBERS', keys.cells(tag, tenant))) do
      local lane, kind, state = cell:match('^([^|]*)|([^|]*)|([^|]*)$')
      local matches = (wanted.lane == '' or wanted.lane == lane)
        and is_kind(wanted, kind)
        and (not wanted.states or wanted.states[state])
      if matches then sources[#sources + 1] = { key = keys.cell(tag, tenant, cell) } end
    end
  end
  return sources
end

--- The sets of the causes whose error has the wanted type.
function listing.caused(tag, wanted)
  local sources = { exact = wanted.lane == '' and not wanted.states }
  for _, tenant in ipairs(tenants_of(tag, wanted.tenant)) do
    for _, name in ipairs(server.call('SMEMBERS', keys.causes(tag, tenant))) do
      local kind, cause = causes.parse(name)
      if causes.type_of(cause) == wanted.error_type and is_kind(wanted, kind) then
        sources[#sources + 1] = { key = keys.cause(tag, tenant, name) }
      end
    end
  end
  return sources
end

--- The sets of a tag, one per tenant.
function listing.tagged(tag, wanted, name, value)
  local sources = { exact = listing.is_bare(wanted) }
  for _, one in ipairs(tenants_of(tag, wanted.tenant)) do
    sources[#sources + 1] = { key = keys.tagged(tag, one, name, value) }
  end
  return sources
end

--- Whether nothing but the tenant is wanted.
function listing.is_bare(wanted)
  return wanted.lane == ''
    and wanted.kind == ''
    and wanted.kind_prefix == ''
    and wanted.error_type == ''
    and not wanted.states
end

local function refill(source, order, since, before)
  local from, to = '(' .. (source.last or before), since
  if order == 'oldest' then
    from, to = source.last and '(' .. source.last or since, '(' .. before
  end
  local reverse = order ~= 'oldest' and 'REV' or nil
  local command = { 'ZRANGE', source.key, from, to, 'BYSCORE' }
  if reverse then command[#command + 1] = reverse end
  for _, word in ipairs({ 'LIMIT', 0, CHUNK, 'WITHSCORES' }) do command[#command + 1] = word end
  source.rows = server.call(unpack(command))
  source.at = 1
  source.last = source.rows[#source.rows]
end

--- The next id and birth over all sources, or nil.
local function next_of(sources, order, since, before)
  local best, best_born
  for _, source in ipairs(sources) do
    if not source.rows or (source.at > #source.rows and #source.rows > 0) then
      refill(source, order, since, before)
    end
    local born = tonumber(source.rows[source.at + 1])
    local is_first = born and (not best or (order == 'oldest') == (born < best_born))
    if is_first then
      best, best_born = source, born
    end
  end
  if not best then return nil end
  local id, born = best.rows[best.at], best.rows[best.at + 1]
  best.at = best.at + 2
  return id, born
end

local function has_text(tags, text)
  for _, word in ipairs(tags) do
    if word:lower():find(text, 1, true) then return true end
  end
  return false
end

local function fits(tag, id, rec, wanted)
  return (wanted.tenant == '' or rec.tenant == wanted.tenant)
    and (wanted.lane == '' or rec.lane == wanted.lane)
    and is_kind(wanted, rec.kind)
    and (not wanted.states or wanted.states[rec.state])
    and (wanted.error_type == '' or causes.type_of(rec.cause) == wanted.error_type)
    and (wanted.text == '' or has_text(record.tags(tag, id, rec), wanted.text))
end

--- Look at rows in order until `visit` returns true or this call may look at no more; returns the birth of
--- the last row, or nil when there are no more.
local function scan(tag, sources, wanted, order, since, before, visit)
  local reads, stamp = 0, nil
  for _ = 1, MOST_LOOKS do
    local id, born = next_of(sources, order, since, before)
    if not id then return nil end
    if has_start(wanted, id) then
      reads = reads + 1
      local rec = record.read(tag, id)
      if rec and fits(tag, id, rec, wanted) and visit(id, rec) then return stamp end
      if wanted.text ~= '' and reads >= MOST_READS then return born end
    end
    stamp = born
  end
  return stamp
end

local function row_of(tag, id, rec)
  local tags = rec.tagged and cmsgpack.pack(record.tags(tag, id, rec)) or ''
  rec.input, rec.result, rec.tags = nil, nil, nil
  local fields = {}
  for name, value in pairs(rec) do
    fields[#fields + 1] = name
    fields[#fields + 1] = value
  end
  return { id, fields, tags }
end

--- Up to `limit` rows that match, and the stamp to continue after if more may follow.
function listing.merge(tag, sources, wanted, order, since, before, limit)
  local rows = {}
  local stamp = scan(tag, sources, wanted, order, since, before, function(id, rec)
    if #rows == limit then return true end
    rows[#rows + 1] = row_of(tag, id, rec)
    return false
  end)
  return rows, stamp
end

--- The number of rows that match, and whether it is exact: from the sizes of the sets if they have no others,
--- otherwise by looking at as many rows as one call may.
function listing.total(tag, sources, wanted, since, before)
  local count = 0
  if sources.exact and wanted.id_prefix == '' and wanted.text == '' then
    for _, source in ipairs(sources) do
      count = count + server.call('ZCOUNT', source.key, since, '(' .. before)
    end
    return count, 1
  end
  local stamp = scan(tag, sources, wanted, 'newest', since, before, function()
    count = count + 1
    return false
  end)
  return count, stamp and 0 or 1
end
