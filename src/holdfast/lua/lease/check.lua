--- Check that a lease is held now, and return the limits of its execution. For calls that do their
--- work in another partition.
--- @key tag the partition
--- @arg id @arg fence
--- @ok tenant, limits, one per line
--- @no execution_not_found | not_active | stale_lease | lease_revoked
--- @flags no-writes @owned execution
--- @requires lib/core/clock lib/execution/lease lib/limit/limits

local function run(tag, args)
  local id, fence = unpack(args)
  local rec, refusal = lease.check(tag, id, fence, clock.now(tag))
  if not rec then return refusal end
  return { 'ok', rec.tenant, limits.of(tag, id, rec) }
end
