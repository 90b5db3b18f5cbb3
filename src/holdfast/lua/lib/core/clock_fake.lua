--- The settable clock of test builds: `tag:clock` holds the time in ms, or with a sign before it, how
--- far it is from that of the server. The composer puts this in place of clock.lua; the production
--- library does not contain it.
local clock = {}

function clock.now(tag)
  local set = server.call('GET', tag .. ':clock')
  local is_shifted = set and set:find('^[+-]')
  if set and not is_shifted then return tonumber(set) end
  local time = server.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000) + (is_shifted and tonumber(set) or 0)
end
