--- Names and sizes of objects in order, a page at a time.
--- @key tag the global partition
--- @arg prefix @arg after a name, empty at first @arg limit
--- @ok name, size pairs; a full page says that more may follow
--- @flags no-writes
--- @requires lib/core/keys

local function run(tag, args)
  local prefix, after, limit = unpack(args)
  local from = after ~= '' and '(' .. after or '[' .. prefix
  local names = server.call(
    'ZRANGE', keys.objects(tag), from, '[' .. prefix .. '\255', 'BYLEX', 'LIMIT', 0, limit
  )
  local rows = { 'ok' }
  for _, name in ipairs(names) do
    rows[#rows + 1] = name
    rows[#rows + 1] = server.call('HSTRLEN', keys.object(tag, name), 'body')
  end
  return rows
end
