--- The view of an execution; and notify a process when the execution changes.
--- @key tag the partition
--- @arg id @arg after version that the caller has: this or an older one is not sent again
--- @arg process its mailbox, or empty to only read
--- @ok STATE VERSION, 0 without a view; then `AT VALUE` if it is newer
--- @no execution_not_found
--- @flags allow-oom @owned execution
--- @requires lib/core/keys lib/core/record lib/core/reply

local function run(tag, args)
  local id, after, process = unpack(args)
  local rec = record.read(tag, id)
  if not rec then return reply.no('execution_not_found', 'id', id) end
  local version = tonumber(rec.view or 0)
  if version > tonumber(after) then return { 'ok', rec.state, version, server.call('GET', keys.view(tag, id)) } end
  if process ~= '' and not record.is_terminal(rec.state) then
    server.call('SADD', keys.followers(tag, id), process)
    if not rec.followed then record.write(tag, id, rec, { 'followed', '1' }) end
  end
  return { 'ok', rec.state, version }
end
