--- First claims of plain executions: most claims are. Nothing but a few fields distinguishes them, so what
--- they have in common is worked out once for a call, and lists and timers are written once for a cohort.
--- @requires lib/core/keys lib/core/index lib/core/timers lib/core/cohorts lib/execution/lease
local first_claims = {}

--- What the claims of one call have in common.
function first_claims.open(request, worker, lease_ms, now)
  local due = now + lease_ms
  return {
    fence = lease.fence(request, 1, 0), worker = worker, due = due, due_text = tostring(due),
    now = now, now_text = tostring(now), cohorts = {}, inputs = {}, places = {},
  }
end

--- The cohort of the executions in a ready set.
local function cohort_of(call, stack)
  if stack.cohort then return stack.cohort end
  local kind, requires = stack.route.place:match('^(.*)|(.*)$')
  local tenant, lane = stack.seat.name, stack.route.lane
  local cohort = cohorts.new(tenant, lane, kind)
  cohort.shared = table.concat({ '', tenant, lane, kind, call.due_text, requires }, ' ')
  stack.cohort = cohort
  call.cohorts[#call.cohorts + 1] = cohort
  return cohort
end

--- Lease an execution that was taken out of a ready set, if it was never claimed and is plain. Adds to
--- `claimed` what the worker gets: id, birth, priority, trace, tenant, lane, kind, expiry and requirements in
--- one line, then the input. Returns whether it is leased.
function first_claims.take(tag, id, stack, call, claimed)
  -- Those of one ready set are much alike, so after the first that is different no other is looked at.
  if stack.differs then return false end
  local key = keys.record(tag, id)
  local found = server.call(
    'HMGET', key, 'state', 'plain', 'attempts', 'tagged', 'born', 'priority', 'trace', 'input'
  )
  local born, input = found[5], found[8]
  if found[1] ~= 'waiting' or found[2] ~= '1' or found[3] or found[4] then
    stack.differs, stack.limited = true, found[2] == '2'
    return false
  end
  server.call(
    'HSET', key, 'state', 'active', 'attempts', '1', 'epoch', '1', 'fence', call.fence,
    'worker', call.worker, 'due', call.due_text, 'started', call.now_text, 'claimed', call.now_text
  )
  local cohort = cohort_of(call, stack)
  cohorts.add(cohort, id, born)
  local size = #claimed
  claimed[size + 1] = id .. ' ' .. born .. ' ' .. (found[6] or '') .. ' ' .. (found[7] or '') .. cohort.shared
  claimed[size + 2] = input
  if not input then
    call.inputs[#call.inputs + 1] = keys.input(tag, id)
    call.places[#call.places + 1] = size + 2
  end
  return true
end

--- Fill in the inputs that have keys of their own, list the executions as active and set their timers.
function first_claims.close(tag, call, claimed)
  if #call.inputs > 0 then
    for i, input in ipairs(server.call('MGET', unpack(call.inputs))) do claimed[call.places[i]] = input end
  end
  for _, cohort in ipairs(call.cohorts) do
    index.shift(tag, cohort, 'waiting', 'active')
    timers.arm_cohort(tag, cohort, call.due, call.now)
  end
end
