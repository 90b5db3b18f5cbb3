--- Read a part of the archive of a pack.
--- @key tag the archive, by its digest
--- @arg number of the part, from 0
--- @ok PARTS, the bytes of this part; 0 if there is no such archive
--- @flags no-writes
--- @requires lib/core/keys

local function run(tag, args)
  local key = keys.blob(tag)
  local parts = server.call('HGET', key, 'sealed')
  if not parts then return { 'ok', 0, '' } end
  return { 'ok', tonumber(parts), server.call('HGET', key, args[1]) or '' }
end
