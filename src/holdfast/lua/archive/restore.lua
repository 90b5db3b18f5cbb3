--- Bring an execution that has ended back into the store. Repeated, it changes nothing.
--- @key tag the partition
--- @arg id @arg archived 1: the archive has it @arg values number of values that follow for the record
--- @arg fields name, value pairs; then per section: name, number of values (-1: one string), values
--- @ok STATE
--- @no id_conflict
--- @flags write
--- @requires lib/core/keys lib/core/record lib/core/clock lib/core/reply lib/core/settings lib/admin/archive
--- @requires lib/graph/members

--- The record and the sections, each with its values.
local function read(args)
  local rec, sections, at = {}, {}, 4
  local fields_end = 3 + tonumber(args[3])
  while at < fields_end do
    rec[args[at]] = args[at + 1]
    at = at + 2
  end
  while at <= #args do
    local name, count = args[at], tonumber(args[at + 1])
    at = at + 2
    if count < 0 then
      sections[name] = args[at]
      at = at + 1
    else
      local values = {}
      for i = 1, count do values[i] = args[at + i - 1] end
      sections[name] = values
      at = at + count
    end
  end
  return rec, sections
end

local function run(tag, args)
  local id, archived = args[1], args[2]
  local now = clock.now(tag)
  local rec, sections = read(args)
  local found = record.get(tag, id, 'born', 'state')
  if found[1] == rec.born then return { 'ok', found[2] } end
  if found[1] then return reply.no('id_conflict', 'id', id) end

  rec.due = tostring(now + tonumber(rec.keep or settings.keep(tag, rec.tenant, rec.state)))
  rec.archived = archived == '1' and (rec.replays or '0') or nil
  -- It comes back alone: a newer graph may have the id of its own now, or get it later.
  if rec.graph and not server.call('ZSCORE', keys.graph_members(tag, rec.graph), id) then
    for _, name in ipairs(members.OWN) do rec[name] = nil end
  end
  archive.restore(tag, id, rec, sections, now)
  return { 'ok', rec.state }
end
