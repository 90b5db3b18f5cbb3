--- Why executions failed. Each that failed or expired is in the sets of its (kind, cause), by birth and by end;
--- a count is the size of a set, so it cannot drift. A cause is `TYPE\nCODE\nPLACE` of the error.
--- @requires lib/core/keys
local causes = {}

local function name_of(rec) return rec.kind .. '|' .. rec.cause end

--- The kind and the cause of a name in the set of causes.
function causes.parse(name) return name:match('^([^|]*)|(.*)$') end

function causes.type_of(cause) return cause and cause:match('^[^\n]*') end

--- The cause of an end. A holder names it; errors of the library itself are JSON that is not sealed.
function causes.of(state, entry)
  if entry.cause then return entry.cause end
  if not entry.error then return state .. '\n\n' end
  return cjson.decode(entry.error).type .. '\n\n'
end

--- List an execution that has ended under its cause.
function causes.enter(tag, id, rec)
  local name, tenant = name_of(rec), rec.tenant
  server.call('SADD', keys.causes(tag, tenant), name)
  server.call('ZADD', keys.cause(tag, tenant, name), rec.born, id)
  server.call('ZADD', keys.cause_ends(tag, tenant, name), rec.ended, id)
end

--- Remove it from the lists.
function causes.leave(tag, id, rec)
  local name, tenant = name_of(rec), rec.tenant
  server.call('ZREM', keys.cause_ends(tag, tenant, name), id)
  server.call('ZREM', keys.cause(tag, tenant, name), id)
  if server.call('EXISTS', keys.cause(tag, tenant, name)) == 0 then
    server.call('SREM', keys.causes(tag, tenant), name)
  end
end
