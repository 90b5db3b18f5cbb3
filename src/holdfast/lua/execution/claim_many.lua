--- Lease ready executions of the routes that a worker can serve: fresh, retried, resumed and
--- reclaimed alike. Tenants take turns by weighted virtual time, inside a tenant the oldest first.
--- @key tag the partition
--- @arg request id of this call; repeated, it returns the same leases @arg worker @arg max
--- @arg lease_ms @arg tenant only this one, or empty @arg lanes comma separated
--- @arg capabilities comma separated @arg kinds only these, as `,a,b,`, or empty for every kind
--- @ok claims; first ones: a line and the input (lib/execution/first_claims); others: a row
--- @ok (lib/execution/claims); of those with limits: id, epoch, limits
--- @event claimed | resumed
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock lib/execution/claims lib/execution/first_claims
--- @requires lib/execution/lanes lib/core/timers lib/limit/grants

-- Executions past their deadline are skipped; this bounds how many in one call.
local MOST_PASSED_OVER = 2000

local function run(tag, args)
  local request, worker, max, lease_ms, tenant, lanes_csv, capabilities, kinds = unpack(args)
  local now = clock.now(tag)
  local only = tenant ~= '' and tenant or nil
  -- Callers choose their request ids: one tenant's request must not count as a repetition of another's.
  local memory = keys.claim(tag, only and only .. '/' .. request or request)
  local known = server.call('GET', memory)
  if known then return claims.again(tag, request, known) end

  local left, taken = tonumber(max), 0
  local wanted = { lanes = lanes_csv, capabilities = capabilities, kinds = kinds, only = only, most = left }
  local open = lanes.open(tag, wanted, now)
  local claimed, ids, opened, granted = { 'ok' }, {}, {}, {}
  local first = first_claims.open(request, worker, tonumber(lease_ms), now)
  local limited = grants.open(request, now)
  for _ = 1, left + MOST_PASSED_OVER do
    if left == 0 then break end
    local id, stack = lanes.next(tag, open)
    if not id then break end
    local leased = first_claims.take(tag, id, stack, first, claimed)
    local row = not leased and grants.take(tag, id, stack, limited)
    if row then
      claimed[#claimed + 1] = row
      leased = true
    elseif not leased then
      local claim, rec, grant = claims.open(tag, id, request, worker, tonumber(lease_ms), now)
      if claim then
        local list = grant and granted or opened
        claimed[#claimed + 1] = claim
        list[#list + 1] = { id, rec }
        leased = true
      end
    end
    if leased then
      taken, left = taken + 1, left - 1
      ids[taken] = id
    end
  end
  lanes.close(tag, open)
  first_claims.close(tag, first, claimed)
  grants.close(tag, limited)
  if #opened > 0 then claims.settle(tag, opened, now) end
  if #granted > 0 then timers.arm_many(tag, granted, now) end
  if taken > 0 then claims.remember(memory, ids) end
  return claimed
end
