--- The facts behind "why is it not running": the execution, its lane, its place in the queue.
--- @key tag the partition
--- @arg id
--- @ok NOW, fields as name, value pairs, lane setting, how many of its tenant are ahead
--- @no execution_not_found
--- @flags no-writes
--- @requires lib/keys lib/clock lib/reply lib/ready lib/settings lib/limits

local function run(tag, args)
  local id = args[1]
  local flat = server.call('HGETALL', keys.record(tag, id))
  if #flat == 0 then return reply.no('execution_not_found', 'id', id) end
  local rec = {}
  for i = 1, #flat, 2 do rec[flat[i]] = flat[i + 1] end
  limits.show(tag, id, rec, flat)
  local queue = keys.ready(tag, ready.route(rec.lane, rec.requires or ''), rec.tenant)
  local ahead = server.call('ZRANK', queue, id)
  return { 'ok', clock.now(tag), flat, settings.lane(tag, rec.lane) or '', ahead or '' }
end
