--- Lease executions that all their limits admitted, and hold back those that a limit refused, also those
--- that the claim has leased before it asked. An item whose grant or lease has ended in the meantime is skipped;
--- if a budget has refused it, it does not wait there.
--- @key tag the partition
--- @arg request id of the claim that was granted @arg worker @arg lease_ms @arg count of those admitted
--- @arg items id and epoch of each admitted one, then of each that is held back: id, epoch, limit,
--- @arg retry_at, after_ms, touched
--- @ok claims; first ones: a line and the input (lib/execution/first_claims); others: a row
--- @ok (lib/execution/claims)
--- @event resumed | rate_limited
--- @flags allow-oom
--- @requires lib/core/clock lib/core/record lib/execution/claims lib/execution/first_claims
--- @requires lib/limit/blocking lib/limit/grants lib/limit/limits lib/limit/outbox

--- The record of an execution if the claim may still use its grant of this epoch, or, if it `is_refused`, has
--- leased it without one; else nil, and the lease that an earlier call of the same claim has opened is handed
--- out again.
local function granted(tag, id, epoch, request, claimed, is_refused)
  local rec = record.read(tag, id)
  if not rec or rec.epoch ~= epoch then return nil end
  if rec.grant == request and limits.is_granted(rec) then return rec end
  if not claims.holds(rec, request) then return nil end
  if is_refused and rec.grant ~= request then return rec end
  claimed[#claimed + 1] = claims.hand(tag, id, rec)
  return nil
end

--- Take an execution that was skipped out of the line of the budget that has just refused it, unless it was
--- held back because of that, or was already woken.
local function give_up(tag, id, epoch, blocker, now)
  if blocker:sub(1, 2) ~= 'b:' then return end
  local found = record.get(tag, id, 'state', 'epoch', 'blocker')
  local waits = found[1] == 'waiting' or found[1] == 'rate_limited' and found[3] == blocker
  if waits and found[2] == epoch then return end
  outbox.put(tag, now, 'r', id, epoch, 0, blocker)
end

local function run(tag, args)
  local request, worker, lease_ms, count = unpack(args, 1, 4)
  local now = clock.now(tag)
  local claimed, opened = { 'ok' }, {}
  local first = first_claims.open(request, worker, tonumber(lease_ms), now)
  local held = 5 + 2 * count
  for i = 5, held - 1, 2 do
    local id, epoch = args[i], args[i + 1]
    local used = grants.use(tag, id, epoch, request, first, claimed)
    local rec = not used and granted(tag, id, epoch, request, claimed)
    -- One past its deadline is left to its timer.
    if rec and (not rec.deadline or tonumber(rec.deadline) > now) then
      claimed[#claimed + 1] = claims.start(tag, id, rec, request, worker, tonumber(lease_ms), now)
      opened[#opened + 1] = { id, rec }
    end
  end
  for i = held, #args, 6 do
    local id, epoch, blocker, retry_at, after_ms, touched = unpack(args, i, i + 5)
    local rec = granted(tag, id, epoch, request, claimed, true)
    if rec then
      local why = { blocker = blocker, retry_at = tonumber(retry_at), after_ms = tonumber(after_ms) }
      why.touched = touched
      blocking.hold(tag, id, rec, why, now)
    else
      give_up(tag, id, epoch, blocker, now)
    end
  end
  first_claims.close(tag, first, claimed)
  if #opened > 0 then claims.settle(tag, opened, now) end
  return claimed
end
