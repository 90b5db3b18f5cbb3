--- The archives that nothing used when they were listed, and that no sweep is done with.
--- @key tag the global partition
--- @arg limit
--- @ok per archive: its digest, 1 if something has begun to use it
--- @flags no-writes
--- @requires lib/core/keys lib/deploy/archives

local function run(tag, args)
  local rows = { 'ok' }
  for _, archive in ipairs(server.call('SRANDMEMBER', keys.unused_archives(tag), args[1])) do
    rows[#rows + 1] = { archive, archives.is_used(tag, archive) and 1 or 0 }
  end
  return rows
end
