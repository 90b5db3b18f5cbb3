--- Executions that wait for the archive, complete, oldest first.
--- @key tag the partition
--- @arg after birth stamp to continue after @arg limit @arg bytes stop when there are more than these
--- @ok rows: id, fields as name, value pairs, sections as name, value pairs; at last the stamp to continue
--- @flags no-writes
--- @requires lib/core/keys lib/core/record lib/admin/archive

local function run(tag, args)
  local after, limit, bytes = args[1], args[2], tonumber(args[3])
  local held = server.call(
    'ZRANGE', keys.unarchived(tag), '(' .. after, '+inf', 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES'
  )
  local rows, total = {}, 0
  for i = 1, #held, 2 do
    local rec = record.read(tag, held[i])
    after = held[i + 1]
    if rec then
      local row, size = archive.export(tag, held[i], rec)
      rows[#rows + 1] = row
      total = total + size
    end
    if total > bytes then break end
  end
  local done = #held == 0 or (after == held[#held] and #held < 2 * tonumber(limit))
  return { 'ok', rows, done and '' or after }
end
