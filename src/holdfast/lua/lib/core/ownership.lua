--- Calls on behalf of one tenant: what belongs to another tenant looks missing. The composer puts
--- these checks before functions whose header says that they are about something owned.
--- @requires lib/core/keys lib/core/record lib/core/reply
local ownership = {}

--- nil if the execution is the tenant's, else the refusal of one that does not exist.
function ownership.execution(tag, id, tenant)
  if record.get(tag, id, 'tenant')[1] == tenant then return nil end
  return reply.no('execution_not_found', 'id', id)
end

--- nil if the graph is the tenant's, else the refusal of one that does not exist.
function ownership.graph(tag, id, tenant)
  if server.call('HGET', keys.graph(tag, id), 'tenant') == tenant then return nil end
  return reply.no('graph_not_found', 'id', id)
end

--- nil if the session is, or was until it was erased, the tenant's, else the refusal of one that does not
--- exist.
function ownership.session(tag, id, tenant)
  local owner = server.call('HGET', keys.session(tag, id), 'tenant')
  if (owner or server.call('GET', keys.erased_session(tag, id))) == tenant then return nil end
  return reply.no('session_not_found', 'id', id)
end
