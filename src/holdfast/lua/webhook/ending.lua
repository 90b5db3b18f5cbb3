--- How an execution or a graph ended, and the webhook that announces it.
--- @key tag the partition
--- @arg what `execution` or `graph` @arg id
--- @ok TENANT STATE, ENDED in ms or empty, URL or empty; nothing if it does not exist
--- @flags no-writes
--- @requires lib/core/keys

local function run(tag, args)
  local what, id = args[1], args[2]
  local key = what == 'graph' and keys.graph(tag, id) or keys.record(tag, id)
  local tenant, state, ended, url = unpack(server.call('HMGET', key, 'tenant', 'state', 'ended', 'on_end'))
  if not tenant then return { 'ok' } end
  return { 'ok', tenant, state, ended or '', url or '' }
end
