--- Receive an unread signal: record it as a step and remove it from the inbox. A recorded step never changes.
--- @key tag the partition
--- @arg id @arg fence @arg step @arg number of the signal @arg result what the step records
--- @ok recorded | known RESULT | gone: another part of the attempt has received it
--- @no execution_not_found | not_active | stale_lease | lease_revoked | too_many_steps
--- @flags write @owned execution
--- @requires lib/core/keys lib/core/clock lib/core/record lib/core/reply lib/execution/lease
--- @requires lib/execution/steps lib/execution/inbox

local function run(tag, args)
  local id, fence, step, number, result = unpack(args)
  local now = clock.now(tag)
  local rec, refusal = lease.check(tag, id, fence, now)
  if not rec then return refusal end
  local known = steps.result(tag, id, step, rec)
  if known then return { 'ok', 'known', known } end
  if server.call('HLEN', keys.steps(tag, id)) >= steps.MOST then
    return reply.no('too_many_steps', 'id', id, 'limit', steps.MOST)
  end

  if not inbox.remove(tag, id, rec, number) then return { 'ok', 'gone' } end
  local last = tonumber(rec.steps or 0) + 1
  steps.put(tag, id, step, last, now, result)
  record.write(tag, id, rec, { 'steps', last })
  return { 'ok', 'recorded' }
end
