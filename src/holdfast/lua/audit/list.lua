--- Read an audit log, newest first.
--- @key tag the global partition
--- @arg log @arg before entry id to continue before, or + @arg since entry id to stop at
--- @arg tenant @arg key each may be empty @arg limit
--- @ok rows: id, data; at last the id to continue before, or empty
--- @flags no-writes
--- @requires lib/core/keys

local CHUNK = 100
-- A filter may skip many entries; this bounds one call.
local MOST_LOOKS = 5000

local function fields_of(flat)
  local fields = {}
  for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
  return fields
end

local function run(tag, args)
  local log, before, since, tenant, key, limit = unpack(args)
  local rows, last = {}, before
  for _ = 1, MOST_LOOKS / CHUNK do
    local from = last == '+' and '+' or '(' .. last
    local found = server.call('XREVRANGE', keys.audit(tag, log), from, since, 'COUNT', CHUNK)
    for _, entry in ipairs(found) do
      if #rows == tonumber(limit) then return { 'ok', rows, last } end
      last = entry[1]
      local fields = fields_of(entry[2])
      if (tenant == '' or fields.tenant == tenant) and (key == '' or fields.key == key) then
        rows[#rows + 1] = { last, fields.data }
      end
    end
    if #found < CHUNK then return { 'ok', rows, '' } end
  end
  return { 'ok', rows, last }
end
