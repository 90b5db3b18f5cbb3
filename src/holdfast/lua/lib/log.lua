--- The log of an execution: what happened to it, oldest first. Birth is in the record, everything
--- later is here. It also holds the answers of calls that ended an attempt, so that a call
--- repeated after a lost reply gets its first answer.
--- @requires lib/keys
local log = {}

-- A reclaimed or delayed execution may live for years; only its recent past is kept.
local LONGEST = 1000

--- Append an entry; `entry` must have `at` and `event`.
function log.append(tag, id, entry)
  local key = keys.log(tag, id)
  if server.call('RPUSH', key, cmsgpack.pack(entry)) > LONGEST then
    server.call('LTRIM', key, -LONGEST, -1)
  end
end

--- The newest entry with these values, or nil.
function log.find(tag, id, wanted)
  local packed = server.call('LRANGE', keys.log(tag, id), 0, -1)
  for i = #packed, 1, -1 do
    local entry = cmsgpack.unpack(packed[i])
    local same = true
    for name, value in pairs(wanted) do same = same and entry[name] == value end
    if same then return entry end
  end
  return nil
end
