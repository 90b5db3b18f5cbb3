--- Lease ready executions of the routes that a worker can serve: fresh, retried, resumed and
--- reclaimed alike. Tenants take turns by weighted virtual time, inside a tenant the oldest first.
--- @key tag the partition
--- @arg request id of this call; repeated, it returns the same leases @arg worker @arg max
--- @arg lease_ms @arg tenant only this one, or empty @arg lanes comma separated
--- @arg capabilities comma separated
--- @ok claims: id, fields, input, tags, steps, signals of the last wait, what upstreams pass on, of each;
--- @ok of those with limits: id, epoch, limits
--- @event claimed | resumed
--- @flags allow-oom
--- @requires lib/keys lib/clock lib/claims lib/lanes lib/timers

-- Executions past their deadline are passed over; this bounds how many in one call.
local MOST_TURNS = 2000

local function run(tag, args)
  local request, worker, max, lease_ms, tenant, lanes_csv, capabilities_csv = unpack(args)
  local now = clock.now(tag)
  local only = tenant ~= '' and tenant or nil
  -- Callers choose the ids of their requests: those of one tenant must not repeat another's.
  local memory = keys.claim(tag, only and only .. '/' .. request or request)
  local known = server.call('GET', memory)
  if known then return claims.again(tag, request, known) end

  local open = lanes.open(tag, lanes_csv, capabilities_csv)
  local claimed, opened, granted, left = { 'ok' }, {}, {}, tonumber(max)
  for _ = 1, MOST_TURNS do
    if left == 0 then break end
    local taken = lanes.take_turn(tag, open, only, left)
    if not taken then break end
    for _, id in ipairs(taken) do
      local claim, rec, grant = claims.open(tag, id, request, worker, tonumber(lease_ms), now)
      if claim then
        local list = grant and granted or opened
        claimed[#claimed + 1] = claim
        list[#list + 1] = { id, rec }
        left = left - 1
      end
    end
  end
  if #opened > 0 then claims.settle(tag, opened, now) end
  if #granted > 0 then timers.arm_many(tag, granted, now) end
  if #claimed > 1 then
    lanes.close(tag, open)
    claims.remember(memory, opened, granted)
  end
  return claimed
end
