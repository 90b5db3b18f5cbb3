--- The storage clock, the only source of time. One call of a function sees one instant.
local clock = {}

--- Now in milliseconds.
function clock.now(_)
  local time = server.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
