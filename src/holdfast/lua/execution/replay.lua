--- Run a terminal execution again: retries start from zero, a deadline counts from now.
--- @key tag the partition
--- @arg id @arg request id of this call @arg keep_steps 1 or 0 @arg from_step or empty @arg reason
--- @ok waiting
--- @no execution_not_found | not_terminal | member_of_graph | replay_limit | step_not_found
--- @no session_busy | session_not_found
--- @event replayed
--- @flags write @owned execution
--- @requires lib/core/keys lib/core/clock lib/core/record lib/core/reply lib/core/log
--- @requires lib/execution/steps lib/execution/requeue lib/admin/archive
--- @requires lib/session/sessions lib/execution/children lib/graph/members

local DEFAULT_MAX_REPLAYS = 10

--- Whether only the replay of its graph can run an execution again: with the graph went the results that its
--- input needs.
local function is_bound(tag, rec)
  return rec.inputs or rec.graph and server.call('EXISTS', keys.graph(tag, rec.graph)) == 1
end

--- Drop the steps that are not kept; returns the number of the last one, or nil if none is left.
local function trim_steps(tag, id, rec, keep_steps, from_step)
  if keep_steps == '1' then return rec.steps end
  record.unfold(tag, id, rec)
  if from_step ~= '' then
    local last = steps.drop_from(tag, id, from_step)
    return last > 0 and last or nil
  end
  server.call('UNLINK', keys.steps(tag, id))
  return nil
end

local function run(tag, args)
  local id, request, keep_steps, from_step, reason = unpack(args)
  local now = clock.now(tag)
  local rec = record.read(tag, id)
  if not rec then return reply.no('execution_not_found', 'id', id) end
  if log.find(tag, id, rec, { event = 'replayed', request = request }) then return { 'ok', 'waiting' } end
  if not record.is_terminal(rec.state) then return reply.no('not_terminal', 'id', id, 'state', rec.state) end
  local session_id, number = sessions.of(id)
  local session = rec.session and sessions.read(tag, session_id)
  if rec.session and not session then return reply.no('session_not_found', 'id', session_id) end
  if session and session.cur then return reply.no('session_busy', 'id', session_id) end
  if is_bound(tag, rec) then
    return reply.no('member_of_graph', 'id', id, 'graph', rec.graph or id:match('^(.+)~'))
  end
  local replays, most = tonumber(rec.replays or 0), tonumber(rec.max_replays or DEFAULT_MAX_REPLAYS)
  if replays >= most then return reply.no('replay_limit', 'id', id, 'limit', most) end
  if from_step ~= '' and not steps.result(tag, id, from_step, rec) then
    return reply.no('step_not_found', 'id', id, 'step', from_step)
  end

  if session then sessions.write(tag, session_id, session, { 'cur', number }) end
  archive.leave(tag, id)
  if rec.graph then record.clear(tag, id, rec, members.OWN) end
  log.keep_completion(tag, id, rec)
  local last_step = trim_steps(tag, id, rec, keep_steps, from_step)
  local changes = requeue.restart(tag, id, rec, now)
  if last_step then
    changes[#changes + 1] = 'steps'
    changes[#changes + 1] = last_step
  end
  log.append(tag, id, rec, { at = now, event = 'replayed', request = request, reason = reason })
  if rec.bond and children.can_bind(tag, id, rec.tenant) then children.bind(tag, id, rec.born) end
  requeue.ready(tag, id, rec, now, changes)
  return { 'ok', 'waiting' }
end
