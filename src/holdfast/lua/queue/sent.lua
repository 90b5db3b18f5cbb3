--- Remove the entries that a target has accepted, up to a number, from the outbox.
--- @key tag the queue
--- @arg target @arg upto number of the last entry
--- @arg incarnation of the queue whose entry it is; older callers do not say
--- @ok OWED how many entries are left, of all targets
--- @no queue_not_found
--- @flags allow-oom
--- @requires lib/core/keys lib/queue/queue lib/queue/outbox

local function run(tag, args)
  local q, refusal = queue.open(tag)
  if not q then return refusal end
  -- The entries of an earlier queue of this name had the same numbers.
  if not args[3] or args[3] == queue_outbox.incarnation(q) then
    queue_outbox.confirm(q, args[1], tonumber(args[2]))
  end
  local owed = queue_outbox.size(q)
  if owed == 0 then server.call('ZREM', keys.timers(tag), 'outbox') end
  return { 'ok', owed }
end
