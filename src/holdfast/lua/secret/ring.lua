--- The keys that seal secrets, only for processes that open them.
--- @key tag the global partition
--- @ok CURRENT or empty, and per key: KID KEY_HEX
--- @flags no-writes
--- @requires lib/core/keys

local function run(tag, _)
  local flat, rows, current = server.call('HGETALL', keys.sealing_keys(tag)), {}, ''
  for i = 1, #flat, 2 do
    local kid = flat[i]:match('^key:(.+)$')
    if kid then
      rows[#rows + 1] = { kid, flat[i + 1] }
    elseif flat[i] == 'current' then
      current = flat[i + 1]
    end
  end
  return { 'ok', current, rows }
end
