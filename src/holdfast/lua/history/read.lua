--- The history of some series.
--- @key tag the global partition
--- @arg span hour or week @arg prefix of the names of series
--- @ok NOW, name and rows of each
--- @flags no-writes
--- @requires lib/core/keys lib/core/clock

local function run(tag, args)
  local span, prefix = unpack(args)
  local found = {}
  for _, series in ipairs(server.call('HKEYS', keys.history_counts(tag))) do
    if series:sub(1, #prefix) == prefix then
      found[#found + 1] = { series, server.call('LRANGE', keys.history(tag, span, series), 0, -1) }
    end
  end
  return { 'ok', clock.now(tag), found }
end
