--- First claims of executions about which nothing but their limits is particular (`plain` is 2): they are
--- granted together, and leased together when their limits have admitted them.
--- @requires lib/core/keys lib/core/timers lib/core/cohorts lib/execution/lease lib/limit/limits
local grants = {}

--- What the grants of one call have in common.
function grants.open(request, now)
  local due = now + limits.GRANT_MS
  return { request = request, due = due, due_text = tostring(due), now = now, size = 0, ids = {} }
end

--- Grant an execution that was taken out of a ready set: its id, epoch and limits. Nil if more than its
--- limits is particular. Those of one ready set are much alike, so after the first no other is looked at.
function grants.take(tag, id, stack, call)
  if not stack.limited then return nil end
  local key = keys.record(tag, id)
  local found = server.call('HMGET', key, 'state', 'plain', 'epoch', 'limits')
  if found[1] ~= 'waiting' or found[2] ~= '2' then
    stack.limited = false
    return nil
  end
  local epoch = (found[3] or 0) + 1
  local epoch_text = epoch == 1 and '1' or tostring(epoch)
  server.call('HSET', key, 'grant', call.request, 'epoch', epoch_text, 'due', call.due_text)
  call.size = call.size + 1
  call.ids[call.size] = id
  return { id, epoch, found[4] or limits.of(tag, id, { limited = '1' }) }
end

--- Set the timers of the grants.
function grants.close(tag, call)
  if call.size > 0 then timers.arm_cohort(tag, call, call.due, call.now) end
end

--- The cohort of an execution, with what the worker gets of all that have the same requirements.
local function cohort_of(call, tenant, lane, kind, requires)
  local cohort = cohorts.of(call.cohorts, tenant, lane, kind)
  if cohort.requires ~= requires then
    cohort.requires = requires
    cohort.shared = table.concat({ '', tenant, lane, kind, call.due_text, requires }, ' ')
  end
  return cohort
end

--- Lease an admitted execution if nothing else is particular and the claim may still use its grant of this
--- epoch. `call` and what is added to `claimed` are those of lib/execution/first_claims. Returns whether it
--- is leased.
function grants.use(tag, id, epoch, request, call, claimed)
  local key = keys.record(tag, id)
  local found = server.call(
    'HMGET', key, 'grant', 'epoch', 'state', 'plain', 'due', 'born', 'tenant', 'lane', 'kind', 'requires',
    'priority', 'trace', 'input'
  )
  if found[1] ~= request or found[2] ~= epoch or not found[5] then return false end
  if found[3] ~= 'waiting' or found[4] ~= '2' then return false end
  server.call(
    'HSET', key, 'state', 'active', 'attempts', '1',
    'fence', epoch == '1' and call.fence or lease.fence(request, epoch, 0), 'worker', call.worker,
    'due', call.due_text, 'started', call.now_text, 'claimed', call.now_text
  )
  local born, input = found[6], found[13]
  local cohort = cohort_of(call, found[7], found[8], found[9], found[10] or '')
  cohorts.add(cohort, id, born)
  local size = #claimed
  claimed[size + 1] = id .. ' ' .. born .. ' ' .. (found[11] or '') .. ' ' .. (found[12] or '') .. cohort.shared
  claimed[size + 2] = input
  if not input then
    call.inputs[#call.inputs + 1] = keys.input(tag, id)
    call.places[#call.places + 1] = size + 2
  end
  return true
end
