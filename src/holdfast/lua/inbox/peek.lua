--- The next unread signal for the holder. Without one, the process is notified when a signal comes.
--- @key tag the partition
--- @arg id @arg fence @arg process its mailbox, or empty to only read
--- @arg names of signals, one at its end may be a prefix followed by *; none means any
--- @ok NUMBER SIGNAL in msgpack, or nothing
--- @no execution_not_found | not_active | stale_lease | lease_revoked
--- @flags allow-oom @owned execution
--- @requires lib/core/clock lib/core/record lib/execution/lease lib/execution/inbox

local function run(tag, args)
  local id, fence, process = unpack(args, 1, 3)
  local rec, refusal = lease.check(tag, id, fence, clock.now(tag))
  if not rec then return refusal end
  local names = {}
  for i = 4, #args do names[#names + 1] = args[i] end
  if rec.mail then
    local number, packed = inbox.first(tag, id, names)
    if number then return { 'ok', number, packed } end
  end
  if process ~= '' and rec.listener ~= process then record.write(tag, id, rec, { 'listener', process }) end
  return { 'ok' }
end
