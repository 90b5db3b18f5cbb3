--- Signals of an execution: a list of packed values, in the order of arrival, numbered from 1.
---   at, name, payload, type and identity of its source, key, correlation, request (of the call)
---   point (the number of its waitpoint), effect (buffered, appended, resumed, ignored, duplicate)
--- @requires lib/core/keys lib/core/record
local signals = {}

signals.MOST = 10000

--- Append one; returns its number.
function signals.append(tag, id, rec, signal)
  local number = server.call('RPUSH', keys.signals(tag, id), cmsgpack.pack(signal))
  record.write(tag, id, rec, { 'signals', number })
  return number
end

--- Change one that is there.
function signals.write(tag, id, number, signal)
  server.call('LSET', keys.signals(tag, id), number - 1, cmsgpack.pack(signal))
end

--- A signal, packed.
function signals.read(tag, id, number) return server.call('LINDEX', keys.signals(tag, id), number - 1) end

--- Remember the key of a signal at a waitpoint.
function signals.remember(tag, id, point, key, number)
  server.call('HSET', keys.signal_keys(tag, id), point .. '|' .. key, number)
end

--- The number of the signal for which a key was used at a waitpoint, or nil.
function signals.known(tag, id, point, key)
  return tonumber(server.call('HGET', keys.signal_keys(tag, id), point .. '|' .. key) or nil)
end
