--- The waitpoints of an execution, in the order they were made, and its wait.
--- @key tag the partition
--- @arg id
--- @ok NOW, waitpoints: NUMBER PACKED each, and the wait in msgpack, empty if there is none
--- @no execution_not_found
--- @flags no-writes
--- @requires lib/keys lib/clock lib/record lib/reply

local function run(tag, args)
  local id = args[1]
  local rec = record.read(tag, id)
  if not rec then return reply.no('execution_not_found', 'id', id) end
  local rows = {}
  for number = 1, tonumber(rec.waitpoints or 0) do
    rows[number] = { number, server.call('HGET', keys.waitpoints(tag, id), number) }
  end
  local wait = rec.state == 'suspended' and server.call('GET', keys.wait(tag, id)) or ''
  return { 'ok', clock.now(tag), rows, wait }
end
