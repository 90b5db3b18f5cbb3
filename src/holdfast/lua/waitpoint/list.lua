--- The waitpoints of an execution, in the order they were made, and its wait.
--- @key tag the partition
--- @arg id
--- @ok waitpoints: NUMBER PACKED each; of a suspended one its wait, in msgpack, and its signals
--- @no execution_not_found
--- @flags no-writes @owned execution
--- @requires lib/core/keys lib/core/record lib/core/reply lib/waitpoint/suspensions

local function run(tag, args)
  local id = args[1]
  local rec = record.read(tag, id)
  if not rec then return reply.no('execution_not_found', 'id', id) end
  local rows = {}
  for number = 1, tonumber(rec.waitpoints or 0) do
    local packed = server.call('HGET', keys.waitpoints(tag, id), number)
    rows[number] = { number, suspensions.shown(tag, id, rec, number, packed) }
  end
  if rec.state ~= 'suspended' then return { 'ok', rows, '', {} } end
  return {
    'ok', rows, server.call('GET', keys.wait(tag, id)), server.call('LRANGE', keys.signals(tag, id), 0, -1),
  }
end
