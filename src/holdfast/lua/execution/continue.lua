--- Start again with another input and an empty journal, under the same lease. Waitpoints stay.
--- @key tag the partition
--- @arg id @arg fence @arg input @arg continued how often this happened before
--- @ok CONTINUED
--- @no execution_not_found | not_active | stale_lease | lease_revoked
--- @flags allow-oom @owned execution
--- @requires lib/core/keys lib/core/clock lib/core/record lib/execution/lease

local function run(tag, args)
  local id, fence, input, continued = args[1], args[2], args[3], tonumber(args[4])
  local rec, refusal = lease.check(tag, id, fence, clock.now(tag))
  if not rec then return refusal end
  if tonumber(rec.continued or 0) > continued then return { 'ok', tonumber(rec.continued) } end

  record.unfold(tag, id, rec)
  server.call('UNLINK', keys.steps(tag, id), keys.input(tag, id), keys.note(tag, id))
  record.clear(tag, id, rec, { 'steps', 'input', 'resumed', 'failures', 'pct', 'progress_at', 'tail' })
  local changes = { 'continued', continued + 1 }
  record.put_payload(keys.input(tag, id), 'input', input, changes)
  record.write(tag, id, rec, changes)
  return { 'ok', continued + 1 }
end
