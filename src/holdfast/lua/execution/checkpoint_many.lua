--- Record the results of steps. A recorded step never changes: the first result is the answer.
--- @key tag the partition
--- @arg items per item four values: id, fence, name, result
--- @ok nothing if this call has recorded all of them; else per item: ok, with the result of a step that was
--- @ok recorded before, or a refusal
--- @no execution_not_found | not_active | stale_lease | lease_revoked | too_many_steps
--- @flags write @owned items
--- @requires lib/execution/checkpoints

local function run(tag, args, tenant) return checkpoints.all(tag, args, tenant) end
