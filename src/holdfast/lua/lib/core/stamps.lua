--- Stamps in microseconds, unique and rising in a partition: exact order, and cursors of lists.
--- @requires lib/core/keys
local stamps = {}

--- The next free stamp; `take` it, or later ones, to use them.
function stamps.next(tag, now)
  local last = tonumber(server.call('HGET', keys.meta(tag), 'stamp') or 0)
  return math.max(now * 1000, last + 1)
end

--- Use all stamps up to `last`.
function stamps.take(tag, last) server.call('HSET', keys.meta(tag), 'stamp', last) end
