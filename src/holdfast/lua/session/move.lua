--- Let the conversation of a session continue on another revision, with a state and an empty journal. It is
--- ready there at once, and waits there for the next message, or takes one that was buffered.
--- @key tag the partition
--- @arg id of the execution @arg fence @arg revision @arg requires with that of the revision @arg input
--- @ok
--- @no execution_not_found | not_active | stale_lease | lease_revoked | session_not_found | revision_draining
--- @flags write @owned execution
--- @requires lib/core/keys lib/core/clock lib/core/record lib/core/reply lib/execution/lease
--- @requires lib/execution/requeue lib/deploy/needs lib/session/sessions

-- What belongs to the journal and to the turn that ends here.
local STALE = { 'steps', 'input', 'resumed', 'failures', 'reclaims', 'pct', 'progress_at', 'tail', 'kept' }

local function run(tag, args)
  local execution, fence, revision, requires, input = unpack(args)
  local now = clock.now(tag)
  local rec, refusal, found = lease.check(tag, execution, fence, now)
  if not rec then
    local repeated = found and found.fence == fence and found.rev == revision and found.state == 'waiting'
    return repeated and { 'ok' } or refusal
  end
  local id = sessions.of(execution)
  local session = rec.session and sessions.read(tag, id)
  if not session then return reply.no('session_not_found', 'id', id or execution) end
  refusal = needs.refusal(tag, execution, rec.tenant, revision)
  if refusal then return refusal end

  server.call('UNLINK', keys.steps(tag, execution), keys.input(tag, execution), keys.note(tag, execution))
  record.clear(tag, execution, rec, STALE)
  if rec.rev then needs.leave(tag, execution, rec, now) end
  local changes = {
    'rev', revision, 'requires', requires, 'open', '1', 'continued', tonumber(rec.continued or 0) + 1,
  }
  record.put_payload(keys.input(tag, execution), 'input', input, changes)
  requeue.ready(tag, execution, rec, now, changes)
  sessions.write(tag, id, session, { 'rev', revision })
  sessions.notify(tag, id, now)
  return { 'ok' }
end
