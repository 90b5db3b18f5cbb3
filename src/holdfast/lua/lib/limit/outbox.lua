--- The outbox of a partition: a call touches one partition only, so processes deliver its messages to
--- other partitions, and remove them when they have arrived. A message may arrive twice.
---   r EXECUTION EPOCH USED LIMIT...   give back what this grant was admitted to, of one that ran (1) or not
---                                     (0), or may not have been admitted yet (2); or of several that ran, with
---                                     blanks between
---   w EXECUTION LIMIT                 a limit has room for an execution that waits for it
---   l WAITPOINT BUDGET DIMENSION N    the answer to an execution that asked for more of a budget
---   h WAITPOINT                       a waitpoint can be answered, which its webhook announces
---   e EXECUTION ENDED, g GRAPH ENDED  it ended at this time, which its webhook announces
--- @requires lib/core/keys lib/core/wake
local outbox = {}

function outbox.put(tag, now, ...)
  local key = keys.outbox(tag)
  server.call('ZADD', key, now, table.concat({ ... }, '\n'))
  if server.call('ZCARD', key) == 1 then wake.courier(tag) end
end

--- The same for several entries, each as lines.
function outbox.put_many(tag, now, entries)
  local key, scored, at = keys.outbox(tag), {}, tostring(now)
  for i, entry in ipairs(entries) do
    scored[2 * i - 1], scored[2 * i] = at, entry
  end
  server.call('ZADD', key, unpack(scored))
  if server.call('ZCARD', key) <= #entries then wake.courier(tag) end
end

--- The oldest entries.
function outbox.read(tag, limit) return server.call('ZRANGE', keys.outbox(tag), 0, limit - 1) end
