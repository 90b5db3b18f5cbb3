--- The ring of signing keys, one hash in the global partition:
---   current = KID, previous = KID, secret:KID, until:KID (absent for the current one)
--- A key is valid while the clock is before its `until`; one comparison for readers and collectors.
--- @requires lib/core/keys
local keyring = {}

function keyring.field(tag, name) return server.call('HGET', keys.keyring(tag), name) end

function keyring.is_over(expiry, now) return tonumber(expiry) <= now end

--- The keys as { KID, SECRET, UNTIL or empty } each, the current kid, and the one before.
function keyring.all(tag)
  local flat, values, rows = server.call('HGETALL', keys.keyring(tag)), {}, {}
  for i = 1, #flat, 2 do values[flat[i]] = flat[i + 1] end
  for name, secret in pairs(values) do
    local kid = name:match('^secret:(.+)$')
    if kid then rows[#rows + 1] = { kid, secret, values['until:' .. kid] or '' } end
  end
  table.sort(rows, function(a, b) return a[1] < b[1] end)
  return rows, values.current or '', values.previous or ''
end

--- Remove keys whose grace period is over.
function keyring.collect(tag, now)
  for _, one in ipairs((keyring.all(tag))) do
    if one[3] ~= '' and keyring.is_over(one[3], now) then
      server.call('HDEL', keys.keyring(tag), 'secret:' .. one[1], 'until:' .. one[1])
    end
  end
end
