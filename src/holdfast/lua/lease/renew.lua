--- Extend leases independently. An expired lease cannot be revived.
--- @key tag the partition
--- @arg lease_ms @arg items per item two values: id, fence
--- @ok per item: ok UNTIL, or a refusal
--- @no execution_not_found | not_active | stale_lease | lease_revoked
--- @flags allow-oom @owned items
--- @requires lib/core/clock lib/core/ownership lib/core/record lib/core/timers lib/execution/lease

local function run(tag, args, tenant)
  local lease_ms = tonumber(args[1])
  local now = clock.now(tag)
  local answers = { 'ok' }
  for i = 2, #args, 2 do
    local id = args[i]
    local rec
    local refusal = tenant and ownership.execution(tag, id, tenant)
    if not refusal then rec, refusal = lease.check(tag, id, args[i + 1], now) end
    if rec then
      record.write(tag, id, rec, { 'due', now + lease_ms })
      timers.arm(tag, id, rec, now)
      answers[#answers + 1] = { 'ok', now + lease_ms }
    else
      answers[#answers + 1] = refusal
    end
  end
  return answers
end
