--- Entries of a pack's state for a tenant: bounded in number and size, some with an end.
--- A scope counts its versions, so no version of a name ever repeats.
--- @requires lib/core/keys
local entries = {}

entries.MOST = 10000
entries.MOST_BYTES = 16 * 1024 * 1024
local SWEPT = 100

--- The entry of a name, or nil if there is none or its time is over.
function entries.read(tag, scope, name, now)
  local packed = server.call('HGET', keys.state(tag, scope), name)
  local entry = packed and cmsgpack.unpack(packed)
  if entry and entry.until_ms and entry.until_ms <= now then return nil end
  return entry
end

local function bytes_of(tag, scope, name)
  return #name + server.call('HSTRLEN', keys.state(tag, scope), name)
end

--- Names whose time is over, some of them, and their bytes.
function entries.over(tag, scope, now)
  local names = server.call(
    'ZRANGE', keys.state_due(tag, scope), '-inf', now, 'BYSCORE', 'LIMIT', 0, SWEPT
  )
  local bytes = 0
  for _, name in ipairs(names) do bytes = bytes + bytes_of(tag, scope, name) end
  return names, bytes
end

--- Bytes of all entries, those whose time is over included.
function entries.bytes(tag, scope)
  return tonumber(server.call('HGET', keys.state_meta(tag, scope), 'bytes') or 0)
end

--- Remove an entry; returns whether it was there.
function entries.remove(tag, scope, name)
  local key, bytes = keys.state(tag, scope), bytes_of(tag, scope, name)
  if server.call('HDEL', key, name) == 0 then return false end
  server.call('ZREM', keys.state_due(tag, scope), name)
  server.call('HINCRBY', keys.state_meta(tag, scope), 'bytes', -bytes)
  return true
end

--- Write an entry in place of the one before; returns its version.
function entries.write(tag, scope, name, entry)
  entries.remove(tag, scope, name)
  local meta = keys.state_meta(tag, scope)
  entry.version = server.call('HINCRBY', meta, 'version', 1)
  local packed = cmsgpack.pack(entry)
  server.call('HSET', keys.state(tag, scope), name, packed)
  server.call('HINCRBY', meta, 'bytes', #name + #packed)
  if entry.until_ms then server.call('ZADD', keys.state_due(tag, scope), entry.until_ms, name) end
  return entry.version
end
