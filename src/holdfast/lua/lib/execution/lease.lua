--- The fence of a lease is `LEASE:EPOCH:ATTEMPT`. The record keeps the fence of its last holder
--- until the next claim, unless the holder lost the lease involuntarily.
--- @requires lib/core/keys lib/core/reply lib/core/record lib/core/log
local lease = {}

function lease.fence(id, epoch, attempt) return id .. ':' .. epoch .. ':' .. attempt end

--- Read the record and check the holder. Returns the record if the holder may continue, which it says
--- (`by_holder`), else nil, a refusal and, if there is one, the record.
function lease.check(tag, id, fence, now)
  local rec = record.read(tag, id)
  if not rec then return nil, reply.no('execution_not_found', 'id', id) end
  if rec.fence == fence then
    if rec.state ~= 'active' then return nil, reply.no('not_active', 'id', id, 'state', rec.state), rec end
    if tonumber(rec.due) > now then
      rec.by_holder = true
      return rec
    end
    return nil, reply.no('stale_lease', 'id', id, 'state', rec.state, 'epoch', rec.epoch), rec
  end
  if rec.revoked == fence then return nil, reply.no('lease_revoked', 'id', id, 'state', rec.state), rec end
  return nil, reply.no('stale_lease', 'id', id, 'state', rec.state, 'epoch', rec.epoch or '0'), rec
end

--- The record with at least those fields that `names` lists, if the holder may continue; else nil, and `check`
--- says why.
function lease.held(tag, id, fence, now, names)
  local rec = record.read_brief(tag, id)
  if rec then return rec.fence == fence and rec.state == 'active' and tonumber(rec.due) > now and rec or nil end
  local found = server.call('HMGET', keys.record(tag, id), 'fence', 'state', 'due', unpack(names))
  if found[1] ~= fence or found[2] ~= 'active' or tonumber(found[3]) <= now then return nil end
  rec = {}
  for i, name in ipairs(names) do rec[name] = found[i + 3] or nil end
  return rec
end

--- Check the holder of a call that ends its attempt with `event`. Returns the record if it may;
--- else nil, a refusal, and the log entry of the same call if it has ended the attempt already.
function lease.check_ending(tag, id, fence, now, event)
  local rec, refusal, found = lease.check(tag, id, fence, now)
  if rec or not found then return rec, refusal end
  return nil, refusal, log.find(tag, id, found, { event = event, fence = fence })
end
