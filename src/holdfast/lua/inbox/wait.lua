--- Wait for a signal: the holder gets the next unread one; without one it returns its lease, and the same
--- attempt continues when a signal with one of the names comes, or the time is over.
--- @key tag the partition
--- @arg id @arg fence @arg until in ms, or empty
--- @arg names of signals, a name may end in *; none means any
--- @ok NUMBER SIGNAL in msgpack, or nothing: it waits
--- @no execution_not_found | not_active | stale_lease | lease_revoked
--- @event delayed
--- @flags allow-oom @owned execution
--- @requires lib/core/clock lib/core/log lib/execution/lease lib/execution/inbox lib/execution/requeue

local function run(tag, args)
  local id, fence, ends = unpack(args, 1, 3)
  local now = clock.now(tag)
  local rec, refusal, ended = lease.check_ending(tag, id, fence, now, 'delayed')
  if ended and ended.hold == 'signal' then return { 'ok' } end
  if not rec then return refusal end
  local names = {}
  for i = 4, #args do names[#names + 1] = args[i] end
  local number, packed = inbox.first(tag, id, names)
  if number then return { 'ok', number, packed } end

  local run_at = tonumber(ends)
  log.append(tag, id, rec, {
    at = now, event = 'delayed', attempt = rec.attempts - 1, fence = fence, run_at = run_at, state = 'delayed',
    hold = 'signal',
  })
  local changes = requeue.open(rec, now, { 'listens', table.concat(names, ',') })
  requeue.later(tag, id, rec, now, run_at, 'signal', changes)
  return { 'ok' }
end
