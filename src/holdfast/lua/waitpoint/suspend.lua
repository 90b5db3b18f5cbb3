--- Wait for a condition on waitpoints and return the lease; the attempt continues when it holds. If
--- early signals fulfil it, the holder keeps its lease and gets them immediately.
--- @key tag the partition
--- @arg id @arg fence @arg key names this wait: repeated, it returns the same
--- @arg timeout_ms or empty @arg on_timeout @arg hold what it waits for
--- @arg seen how many signals there were when `fitting` was decided, or empty
--- @arg fitting in msgpack: numbers of early signals whose leaf's expression holds, by leaf
--- @arg tree the condition in msgpack @arg specs of waitpoints in msgpack, new or by `number`
--- @ok suspended, or active KEY SIGNALS; then waitpoints: NUMBER PACKED
--- @ok check SEEN and signals to decide on: NUMBER POSITION PACKED
--- @no execution_not_found | not_active | stale_lease | lease_revoked
--- @no waitpoint_not_found | waitpoint_closed | too_many_waitpoints
--- @event suspended | woken
--- @flags write @owned execution
--- @requires lib/core/keys lib/core/clock lib/core/log lib/core/record lib/core/reply lib/execution/lease
--- @requires lib/waitpoint/waitpoints lib/waitpoint/suspensions lib/waitpoint/conditions lib/waitpoint/signals

--- The waitpoints of a wait by position: { number, point } of those that exist, else { nil, spec };
--- and how many are new. Or nil and a refusal.
local function resolve(tag, id, specs, now)
  local pending = {}
  for _, one in ipairs(waitpoints.living(tag, id)) do
    if waitpoints.lives(one[2], now) then pending[one[2].name] = one end
  end
  local found, fresh = {}, 0
  for _, spec in ipairs(specs) do
    local one = { spec.number, spec.number and waitpoints.read(tag, id, spec.number) or nil }
    if not spec.number then one = not spec.asks and pending[spec.name] or { nil, spec } end
    local waitpoint_id = one[1] and waitpoints.id(id, one[1])
    if not one[2] then return nil, reply.no('waitpoint_not_found', 'id', waitpoint_id) end
    if one[1] and not waitpoints.lives(one[2], now) then
      return nil, reply.no('waitpoint_closed', 'id', waitpoint_id, 'why', one[2].why or 'expired')
    end
    found[#found + 1] = one
    if not one[1] then fresh = fresh + 1 end
  end
  return found, fresh
end

--- Early signals at waitpoints with an expression, for the caller to decide on.
local function undecided(tag, id, tree, found)
  local asked, rows = {}, {}
  conditions.walk(tree, function(node)
    if node.where then asked[node.at] = true end
  end)
  for position, one in ipairs(found) do
    for _, number in ipairs(asked[position] and one[2].held or {}) do
      rows[#rows + 1] = { number, position, signals.read(tag, id, number) }
    end
  end
  return rows
end

--- Open the waitpoints and count the signals that they hold.
local function open(tag, id, rec, wait, found, fitting, now)
  for position, one in ipairs(found) do
    local number, point = one[1], one[2]
    if not number then
      number, point = waitpoints.add(tag, id, rec, point, 'open', now)
    end
    wait.points[position] = number
    for _, early in ipairs(point.held or {}) do
      local signal, leaves = cmsgpack.unpack(signals.read(tag, id, early)), {}
      for leaf, numbers in pairs(fitting) do
        for _, other in ipairs(numbers) do leaves[leaf] = leaves[leaf] or other == early end
      end
      signal.effect = suspensions.offer(wait, number, early, signal, leaves)
      signals.write(tag, id, early, signal)
    end
    point.state, point.held = 'open', nil
    waitpoints.write(tag, id, number, point)
  end
end

local function answer(tag, id, word, wait)
  local values = { 'ok', word, word == 'active' and suspensions.delivered(tag, id) or {} }
  local rec, packed = record.read(tag, id), server.call('HMGET', keys.waitpoints(tag, id), unpack(wait.points))
  for i, number in ipairs(wait.points) do
    values[#values + 1] = { number, suspensions.shown(tag, id, rec, number, packed[i]) }
  end
  return values
end

local function run(tag, args)
  local id, fence, key, timeout, on_timeout, hold, seen, fitting, tree = unpack(args, 1, 9)
  local now = clock.now(tag)
  local rec, refusal, ended = lease.check_ending(tag, id, fence, now, 'suspended')
  if ended then return answer(tag, id, 'suspended', { points = ended.points }) end
  if not rec then return refusal end
  local last = rec.resumed and suspensions.read(tag, id)
  if last and last.key == key then return answer(tag, id, 'active', last) end
  local specs = {}
  for i = 10, #args do specs[#specs + 1] = cmsgpack.unpack(args[i]) end
  local found, fresh = resolve(tag, id, specs, now)
  if not found then return fresh end
  if tonumber(rec.waitpoints or 0) + fresh > waitpoints.MOST then
    return reply.no('too_many_waitpoints', 'id', id, 'limit', waitpoints.MOST)
  end
  tree = cmsgpack.unpack(tree)
  local rows = undecided(tag, id, tree, found)
  if #rows > 0 and seen ~= rec.signals then return { 'ok', 'check', rec.signals, rows } end

  local wait = suspensions.new(key, tree, {}, now)
  open(tag, id, rec, wait, found, cmsgpack.unpack(fitting), now)
  if conditions.hold(wait, now) then
    suspensions.close(tag, id, rec, wait, now)
    log.append(tag, id, rec, { at = now, event = 'woken', by = 'early', attempt = rec.attempts - 1 })
    record.write(tag, id, rec, { 'resumed', '1' })
    return answer(tag, id, 'active', wait)
  end
  suspensions.write(tag, id, wait)
  log.append(tag, id, rec, {
    at = now, event = 'suspended', attempt = rec.attempts - 1, fence = fence, points = wait.points, hold = hold,
  })
  if timeout ~= '' then
    record.write(tag, id, rec, { 'wait_until', now + tonumber(timeout), 'on_timeout', on_timeout })
  end
  suspensions.suspend(tag, id, rec, wait, now, hold)
  return answer(tag, id, 'suspended', wait)
end
