--- The fence of a lease is `LEASE:EPOCH:ATTEMPT`. The record keeps the fence of its last holder
--- until the next claim, unless the holder lost the lease against its will.
--- @requires lib/reply lib/record lib/log
local lease = {}

function lease.fence(id, epoch, attempt) return id .. ':' .. epoch .. ':' .. attempt end

--- Read the record and check the holder. Returns the record, or nil and a refusal.
function lease.check(tag, id, fence, now)
  local rec = record.read(tag, id)
  if not rec then return nil, reply.no('execution_not_found', 'id', id) end
  if rec.fence == fence then
    if rec.state ~= 'active' then return nil, reply.no('not_active', 'id', id, 'state', rec.state) end
    if tonumber(rec.lease_until) > now then return rec end
    return nil, reply.no('stale_lease', 'id', id, 'state', rec.state, 'epoch', rec.epoch, 'expired', '1')
  end
  if rec.revoked == fence then return nil, reply.no('lease_revoked', 'id', id, 'state', rec.state) end
  return nil, reply.no('stale_lease', 'id', id, 'state', rec.state, 'epoch', rec.epoch or '0')
end

--- The log entry by which this holder ended its attempt with this verb, if it did.
function lease.ended(tag, id, fence, event)
  return log.find(tag, id, { event = event, fence = fence })
end
