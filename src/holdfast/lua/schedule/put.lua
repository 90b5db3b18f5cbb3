--- Create a schedule, or replace its content. A repetition of the same request gets the same answer.
--- @key tag the partition of the schedule
--- @arg id @arg request id of this call @arg version that is replaced, empty to create
--- @arg digest of what it says @arg plan opaque @arg tenant @arg paused 1 or empty
--- @arg next the next tick in ms, or empty @arg due when it fires, or empty
--- @ok created | replaced | same, VERSION
--- @no schedule_not_found | schedule_conflict | schedule_changed
--- @flags write
--- @requires lib/core/keys lib/core/clock lib/core/reply lib/admin/schedules

local function run(tag, args)
  local id, request, version, digest, plan, tenant, paused, next_tick, due = unpack(args)
  local now = clock.now(tag)
  local found = schedules.read(tag, id)
  if found and found.request == request then return { 'ok', found.answer, tonumber(found.version) } end
  if not found and version ~= '' then return reply.no('schedule_not_found', 'id', id) end
  if found and version == '' then
    if found.digest == digest then return { 'ok', 'same', tonumber(found.version) } end
    return reply.no('schedule_conflict', 'id', id)
  end
  if found and found.version ~= version then return reply.no('schedule_changed', 'id', id) end

  local number = found and tonumber(found.version) + 1 or 1
  local answer = found and 'replaced' or 'created'
  server.call(
    'HSET', keys.schedule(tag, id),
    'version', number,
    'request', request,
    'answer', answer,
    'digest', digest,
    'tenant', tenant,
    'paused', paused,
    'next', next_tick,
    'due', due,
    'created_at', found and found.created_at or now,
    'changed_at', now
  )
  server.call('SET', keys.plan(tag, id), plan)
  server.call('ZADD', keys.schedules(tag), 0, id)
  schedules.arm(tag, id, due, now)
  return { 'ok', answer, number }
end
