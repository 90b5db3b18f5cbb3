--- Record the result of a step. A recorded step never changes: the first result is the answer.
--- @key tag the partition
--- @arg id @arg fence @arg name @arg result
--- @ok recorded | known RESULT
--- @no execution_not_found | not_active | stale_lease | lease_revoked | too_many_steps
--- @flags write @owned execution
--- @requires lib/core/keys lib/core/clock lib/execution/lease lib/core/record lib/core/reply
--- @requires lib/execution/steps

local function run(tag, args)
  local id, fence, name, result = unpack(args)
  local now = clock.now(tag)
  local rec, refusal = lease.check(tag, id, fence, now)
  if not rec then return refusal end
  local known = steps.result(tag, id, name)
  if known then return { 'ok', 'known', known } end
  if server.call('HLEN', keys.steps(tag, id)) >= steps.MOST then
    return reply.no('too_many_steps', 'id', id, 'limit', steps.MOST)
  end

  local number = tonumber(rec.steps or 0) + 1
  steps.put(tag, id, name, number, now, result)
  record.write(tag, id, rec, { 'steps', number })
  return { 'ok', 'recorded' }
end
