--- Release a revision, whose drain is overdue, from one execution. A conversation that waits for a message
--- is asked to move, another one that waits is ended, with a message to the user. `force` ends also what
--- runs. An execution that does not need the revision any more is left alone, as is each if the revision has
--- been opened again.
--- @key tag the partition
--- @arg tenant of the deployment @arg revision @arg id of the execution
--- @arg how move | restart | force @arg text of the message
--- @ok asked | ended | left
--- @event cancelled
--- @flags allow-oom
--- @requires lib/core/clock lib/core/record lib/execution/finish lib/session/conversations
--- @requires lib/session/restarts lib/deploy/needs

local function run(tag, args)
  local tenant, revision, id, how, text = unpack(args)
  local now = clock.now(tag)
  local rec = record.read(tag, id)
  if not rec or rec.rev ~= revision or rec.tenant ~= tenant or record.is_terminal(rec.state) then
    return { 'ok', 'left' }
  end
  if not needs.is_closed(tag, tenant, revision) then return { 'ok', 'left' } end
  if how == 'move' and rec.session and conversations.awaits_message(rec) then
    restarts.ask(tag, id, rec, now)
    return { 'ok', 'asked' }
  end
  if rec.state ~= 'suspended' and how ~= 'force' then return { 'ok', 'left' } end
  local reason = 'the drain of revision ' .. revision .. ' was overdue'
  if rec.session then
    restarts.finish(tag, id, rec, text, reason, now)
  else
    local entry = { event = 'cancelled', attempt = record.open_attempt(rec), reason = reason }
    finish.now(tag, id, rec, 'cancelled', now, {}, entry)
  end
  return { 'ok', 'ended' }
end
