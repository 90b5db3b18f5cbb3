--- Change the priority of an execution that has not ended; a waiting one moves immediately.
--- @key tag the partition
--- @arg id @arg request id of this call @arg priority
--- @ok PREVIOUS
--- @no execution_not_found | already_terminal
--- @event prioritized
--- @flags allow-oom @owned execution
--- @requires lib/core/clock lib/core/record lib/core/reply lib/core/log lib/execution/ready
--- @requires lib/core/settings

local function run(tag, args)
  local id, request, priority = args[1], args[2], tonumber(args[3])
  local now = clock.now(tag)
  local rec = record.read(tag, id)
  if not rec then return reply.no('execution_not_found', 'id', id) end
  local done = log.find(tag, id, rec, { event = 'prioritized', request = request })
  if done then return { 'ok', done.from } end
  if record.is_terminal(rec.state) then return reply.no('already_terminal', 'id', id, 'state', rec.state) end
  local previous = tonumber(rec.priority or 0)
  if previous == priority then return { 'ok', previous } end

  local rank = tonumber(rec.rank or rec.born) + (previous - priority) * settings.priority_us(tag)
  record.write(tag, id, rec, { 'priority', priority, 'rank', rank })
  if rec.state == 'waiting' then ready.rerank(tag, id, rec) end
  log.append(tag, id, rec, { at = now, event = 'prioritized', from = previous, to = priority, request = request })
  return { 'ok', previous }
end
