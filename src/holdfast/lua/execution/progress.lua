--- Record the progress of the holder.
--- @key tag the partition
--- @arg id @arg fence @arg pct 0..100 @arg message
--- @ok
--- @no execution_not_found | not_active | stale_lease | lease_revoked
--- @flags write @owned execution
--- @requires lib/core/keys lib/core/clock lib/execution/lease lib/core/record

local function run(tag, args)
  local id, fence, pct, message = unpack(args)
  local now = clock.now(tag)
  local rec, refusal = lease.check(tag, id, fence, now)
  if not rec then return refusal end

  record.write(tag, id, rec, { 'pct', pct, 'progress_at', now })
  if message == '' then
    server.call('DEL', keys.note(tag, id))
  else
    server.call('SET', keys.note(tag, id), message)
  end
  return { 'ok' }
end
