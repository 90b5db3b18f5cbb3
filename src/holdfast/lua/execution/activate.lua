--- Lease executions that all their limits admitted, and hold back those that a limit refused. An item
--- whose grant has ended in the meantime is skipped. For processes of 0.2.0: later ones use activate_many.
--- @key tag the partition
--- @arg request id of the claim that was granted @arg worker @arg lease_ms
--- @arg items per item six values: id, epoch, and of one that is held back: limit, retry_at, after_ms, touched
--- @ok claims: id, fields, input, tags, steps of each
--- @event resumed | rate_limited
--- @flags allow-oom
--- @requires lib/core/clock lib/core/record lib/execution/claims lib/limit/blocking
--- @requires lib/limit/limits

local function run(tag, args)
  local request, worker, lease_ms = unpack(args, 1, 3)
  local now = clock.now(tag)
  local claimed, opened = { 'ok' }, {}
  for i = 4, #args, 6 do
    local id, epoch, blocker, retry_at, after_ms, touched = unpack(args, i, i + 5)
    local rec = record.read(tag, id)
    if rec and rec.grant == request and rec.epoch == epoch and limits.is_granted(rec) then
      if blocker ~= '' then
        blocking.hold(tag, id, rec, {
          blocker = blocker,
          retry_at = tonumber(retry_at),
          after_ms = tonumber(after_ms),
          touched = touched,
        }, now)
      -- One past its deadline is left to its timer.
      elseif not rec.deadline or tonumber(rec.deadline) > now then
        claimed[#claimed + 1] = claims.start(tag, id, rec, request, worker, tonumber(lease_ms), now)
        opened[#opened + 1] = { id, rec }
      end
    elseif rec and rec.epoch == epoch and claims.holds(rec, request) then
      claimed[#claimed + 1] = claims.hand(tag, id, rec)
    end
  end
  if #opened > 0 then claims.settle(tag, opened, now) end
  return claimed
end
