--- Create waitpoints before the wait, so that they can be sent out; signals are kept until then.
--- @key tag the partition
--- @arg id @arg fence @arg specs each in msgpack; `key` names it: repeated, it returns the same
--- @ok per waitpoint: NUMBER PACKED
--- @no execution_not_found | not_active | stale_lease | lease_revoked
--- @no waitpoint_exists | too_many_waitpoints
--- @flags write @owned execution
--- @requires lib/core/keys lib/core/clock lib/execution/lease lib/core/reply lib/waitpoint/waitpoints

--- The living waitpoints by name, and those with a key by key.
local function living(tag, id, now)
  local by_name, by_key = {}, {}
  for _, one in ipairs(waitpoints.living(tag, id)) do
    if waitpoints.lives(one[2], now) then
      by_name[one[2].name] = one
      if one[2].key then by_key[one[2].key] = one end
    end
  end
  return by_name, by_key
end

-- Longer than any caller repeats a call whose reply it lost.
local MEMORY_MS = 60000

-- Of one that is closed already, a repetition by the same holder finds the number here.
local function memory(tag, id, fence, spec) return keys.claim(tag, id .. '|' .. fence .. '|' .. spec.key) end

--- The waitpoint of a key, if this holder has prepared it a moment ago and it is closed. One that has expired
--- is prepared again.
local function closed(tag, id, fence, spec)
  local number = tonumber(server.call('GET', memory(tag, id, fence, spec)) or nil)
  local point = number and waitpoints.read(tag, id, number)
  return point and point.state == 'closed' and point.why ~= 'expired' and { number, point } or nil
end

local function run(tag, args)
  local id, fence = args[1], args[2]
  local now = clock.now(tag)
  local rec, refusal = lease.check(tag, id, fence, now)
  if not rec then return refusal end
  local by_name, by_key = living(tag, id, now)
  local specs, fresh = {}, 0
  for i = 3, #args do
    local spec = cmsgpack.unpack(args[i])
    specs[#specs + 1] = spec
    by_key[spec.key] = by_key[spec.key] or closed(tag, id, fence, spec)
    if not by_key[spec.key] then fresh = fresh + 1 end
    if by_name[spec.name] and not by_key[spec.key] then
      return reply.no('waitpoint_exists', 'id', id, 'name', spec.name)
    end
  end
  if tonumber(rec.waitpoints or 0) + fresh > waitpoints.MOST then
    return reply.no('too_many_waitpoints', 'id', id, 'limit', waitpoints.MOST)
  end

  local answer, added = { 'ok' }, {}
  for _, spec in ipairs(specs) do
    local known = by_key[spec.key]
    local number, point
    if known then
      number, point = known[1], known[2]
    else
      number, point = waitpoints.add(tag, id, rec, spec, 'pending', now, added)
      server.call('SET', memory(tag, id, fence, spec), number, 'PX', MEMORY_MS)
    end
    answer[#answer + 1] = { number, cmsgpack.pack(point) }
  end
  if #added > 0 then waitpoints.enlist(tag, id, added) end
  return answer
end
