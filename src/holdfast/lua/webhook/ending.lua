--- How an execution or a graph ended, and the webhook that announces it.
--- @key tag the partition
--- @arg what `execution` or `graph` @arg id
--- @ok TENANT STATE, ENDED in ms or empty, URL or empty
--- @no execution_not_found | graph_not_found
--- @flags no-writes
--- @requires lib/core/keys lib/core/reply

local function run(tag, args)
  local what, id = args[1], args[2]
  local key = what == 'graph' and keys.graph(tag, id) or keys.record(tag, id)
  local tenant, state, ended, url = unpack(server.call('HMGET', key, 'tenant', 'state', 'ended', 'on_end'))
  if tenant then return { 'ok', tenant, state, ended or '', url or '' } end
  if what == 'graph' then return reply.no('graph_not_found', 'id', id) end
  return reply.no('execution_not_found', 'id', id)
end
