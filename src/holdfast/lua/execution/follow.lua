--- Read the history of an execution, and notify a process whenever the execution changes.
--- @key tag the partition
--- @arg id @arg process
--- @ok STATE, birth stamp in us, entries in msgpack
--- @no execution_not_found
--- @flags allow-oom @owned execution
--- @requires lib/core/keys lib/core/record lib/core/reply lib/core/log

local function run(tag, args)
  local id, process = unpack(args)
  local rec = record.read(tag, id)
  if not rec then return reply.no('execution_not_found', 'id', id) end
  if not record.is_terminal(rec.state) then
    server.call('SADD', keys.followers(tag, id), process)
    if not rec.followed then record.write(tag, id, rec, { 'followed', '1' }) end
  end
  return { 'ok', rec.state, rec.born, log.all(tag, id, rec) }
end
