--- The signals of an execution: those at its waitpoints, then the unread ones of its inbox, each in the order
--- of arrival.
--- @key tag the partition
--- @arg id
--- @ok signals, packed
--- @no execution_not_found
--- @flags no-writes @owned execution
--- @requires lib/core/keys lib/core/reply lib/execution/inbox

local function run(tag, args)
  local id = args[1]
  if server.call('EXISTS', keys.record(tag, id)) == 0 then return reply.no('execution_not_found', 'id', id) end
  local packed = server.call('LRANGE', keys.signals(tag, id), 0, -1)
  for _, unread in ipairs(inbox.all(tag, id)) do packed[#packed + 1] = unread end
  return { 'ok', packed }
end
