--- Ends of plain executions with a result: most ends are. Nothing acts on them, so an end takes a look at the
--- record and a write to it, and lists and timers are written once for a cohort. The others end by
--- lib/execution/finish.
--- @requires lib/core/keys lib/core/record lib/core/index lib/core/timers lib/core/cohorts lib/core/settings
--- @requires lib/stream/carried lib/limit/limits lib/limit/outbox
local plain_ends = {}

--- What the ends of one call have in common.
function plain_ends.open(now)
  return { now = now, now_text = tostring(now), cohorts = {}, bounds = {}, releases = {}, quotas = {} }
end

--- Whether a lease that ends at `due` has ended. Leases that were claimed together end together.
local function is_late(call, due)
  if call.due ~= due then call.due, call.late = due, tonumber(due) <= call.now end
  return call.late
end

--- The cohort of an execution, with the end of its retention.
local function cohort_of(tag, call, tenant, lane, kind)
  local cohort = cohorts.of(call.cohorts, tenant, lane, kind)
  if not cohort.due then
    cohort.due = call.now + settings.keep(tag, tenant, 'completed')
    cohort.due_text = tostring(cohort.due)
  end
  return cohort
end

--- Report to the quotas of an execution that it no longer runs.
local function release(tag, id, fence, call)
  local list = server.call('HGET', keys.record(tag, id), 'limits') or limits.of(tag, id, {})
  local quotas = call.quotas[list]
  if not quotas then
    quotas = table.concat(limits.quotas_of(list), '\n')
    call.quotas[list] = quotas
  end
  if quotas == '' then return end
  call.releases[#call.releases + 1] = 'r\n' .. id .. '\n' .. fence:match(':(%d+):%d+$') .. '\n1\n' .. quotas
end

--- End a plain execution with its result, if the holder of this fence may. Returns whether it has.
function plain_ends.complete(tag, id, fence, result, content_type, last, call)
  local key = keys.record(tag, id)
  local found =
    server.call('HMGET', key, 'fence', 'state', 'plain', 'due', 'tenant', 'lane', 'kind', 'born')
  local plain = found[3]
  if found[1] ~= fence or found[2] ~= 'active' or plain ~= '1' and plain ~= '2' then return false end
  if is_late(call, found[4]) then return false end
  if plain == '2' then release(tag, id, fence, call) end
  local cohort = cohort_of(tag, call, found[5], found[6], found[7])
  cohorts.add(cohort, id, found[8])
  if last then carried.conclude(tag, id, carried.holder(tag, id, found[5]), last, call.now, call.bounds) end
  if content_type == '' and record.is_inline(result) then
    server.call(
      'HSET', key, 'state', 'completed', 'ended', call.now_text, 'due', cohort.due_text, 'result', result
    )
  else
    local changes = { 'state', 'completed', 'ended', call.now_text, 'due', cohort.due_text }
    record.put_result(tag, id, result, content_type, changes)
    server.call('HSET', key, unpack(changes))
  end
  return true
end

--- List the executions as completed, and set the timers of their retention.
function plain_ends.close(tag, call)
  if #call.releases > 0 then outbox.put_many(tag, call.now, call.releases) end
  for _, cohort in ipairs(call.cohorts) do
    index.shift(tag, cohort, 'active', 'completed')
    timers.arm_cohort(tag, cohort, cohort.due, call.now)
  end
end
