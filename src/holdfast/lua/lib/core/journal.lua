--- Bounded append-only logs with many writers and readers: the audit log and the event feeds.
--- Entry ids are Valkey stream ids whose time is the storage clock, so they sort by time.
local journal = {}

--- Append fields; keeps about the last `most` entries. If the clock has gone back, the entry gets the
--- next id after the last one instead.
function journal.append(key, most, now, ...)
  local id = server.pcall('XADD', key, 'MAXLEN', '~', most, ('%d-*'):format(now), ...)
  if type(id) == 'table' and id.err then id = server.call('XADD', key, 'MAXLEN', '~', most, '*', ...) end
  return id
end
