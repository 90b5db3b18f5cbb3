--- The same as `checkpoint_many`, with an answer for each item. Processes of 0.2.0 call it.
--- @key tag the partition
--- @arg items per item four values: id, fence, name, result
--- @ok per item: ok, with the result of a step that was recorded before, or a refusal
--- @no execution_not_found | not_active | stale_lease | lease_revoked | too_many_steps
--- @flags write @owned items
--- @requires lib/execution/checkpoints

local function run(tag, args, tenant) return checkpoints.all(tag, args, tenant, true) end
