--- Everything of one execution that has ended.
--- @key tag the partition
--- @arg id
--- @ok id, fields as name, value pairs, sections as name, value pairs
--- @no execution_not_found | not_terminal
--- @flags no-writes @owned execution
--- @requires lib/core/record lib/core/reply lib/admin/archive

local function run(tag, args)
  local id = args[1]
  local rec = record.read(tag, id)
  if not rec then return reply.no('execution_not_found', 'id', id) end
  if not record.is_terminal(rec.state) then return reply.no('not_terminal', 'id', id, 'state', rec.state) end
  local row = archive.export(tag, id, rec)
  return { 'ok', unpack(row) }
end
