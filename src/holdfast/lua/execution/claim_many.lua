--- Lease ready executions of the routes that a worker can serve: fresh, retried, resumed and
--- reclaimed alike. Tenants take turns by weighted virtual time, inside a tenant the oldest first.
--- @key tag the partition
--- @arg request id of this call; repeated, it returns the same leases @arg worker @arg max
--- @arg lease_ms @arg tenant only this one, or empty @arg lanes comma separated
--- @arg capabilities comma separated @arg kinds only these, as `,a,b,`, or empty for every kind
--- @arg current 1 if the caller asks the limits of what it gets leased, and reads lines of members with inputs
--- @ok claims; first ones: a line and the input (lib/execution/first_claims); others: a row
--- @ok (lib/execution/claims); of others with limits, or if it is not current: id, epoch, limits
--- @event claimed | resumed
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock lib/execution/claims lib/execution/first_claims
--- @requires lib/execution/lanes lib/core/timers lib/limit/grants

-- Executions past their deadline are skipped; this bounds how many in one call.
local MOST_PASSED_OVER = 2000

--- Lease or grant an execution that was taken out of the ready sets; adds to `call.claimed` what the worker
--- gets. Returns whether it may run.
local function take(tag, id, stack, call)
  local claimed = call.claimed
  local leased, has_brief = first_claims.take(tag, id, stack, call.first, claimed)
  if leased then return true end
  local row, rec, is_grant = not has_brief and grants.take(tag, id, stack, call.limited), nil, nil
  if not row then
    row, rec, is_grant = claims.open(tag, id, call.request, call.worker, call.lease_ms, call.now)
    if not row then return false end
    local list = is_grant and call.granted or call.opened
    list[#list + 1] = { id, rec }
  end
  claimed[#claimed + 1] = row
  return true
end

--- Write what the claims have in common.
local function close(tag, call)
  first_claims.close(tag, call.first, call.claimed)
  grants.close(tag, call.limited)
  if #call.opened > 0 then claims.settle(tag, call.opened, call.now) end
  if #call.granted > 0 then timers.arm_many(tag, call.granted, call.now) end
end

local function run(tag, args)
  local request, worker, max, lease_ms, tenant, lanes_csv, capabilities, kinds, current = unpack(args)
  local now = clock.now(tag)
  local only = tenant ~= '' and tenant or nil
  -- Callers choose their request ids: one tenant's request must not count as a repetition of another's.
  local memory = keys.claim(tag, only and only .. '/' .. request or request)
  local known = server.call('GET', memory)
  if known then return claims.again(tag, request, known) end

  local left, taken = tonumber(max), 0
  local wanted = { lanes = lanes_csv, capabilities = capabilities, kinds = kinds, only = only, most = left }
  local open = lanes.open(tag, wanted, now)
  local call = { request = request, worker = worker, lease_ms = tonumber(lease_ms), now = now }
  call.claimed, call.opened, call.granted = { 'ok' }, {}, {}
  call.first = first_claims.open(request, worker, call.lease_ms, now, current)
  call.limited = grants.open(request, now)
  local ids = {}
  for _ = 1, left + MOST_PASSED_OVER do
    if left == 0 then break end
    local id, stack = lanes.next(tag, open)
    if not id then break end
    if take(tag, id, stack, call) then
      taken, left = taken + 1, left - 1
      ids[taken] = id
    end
  end
  lanes.close(tag, open)
  close(tag, call)
  if taken > 0 then claims.remember(memory, ids) end
  return call.claimed
end
