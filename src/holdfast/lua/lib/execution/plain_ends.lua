--- Ends of plain executions with a result: most ends are. Nothing acts on them, so an end takes a look at the
--- record and a write to it, and lists and timers are written once for a cohort. Briefs are read and written
--- together. The others end by lib/execution/finish.
--- @requires lib/core/keys lib/core/record lib/core/index lib/core/timers lib/core/cohorts lib/core/settings
--- @requires lib/core/brief lib/stream/carried lib/limit/limits lib/limit/outbox
local plain_ends = {}

--- What the ends of one call have in common.
function plain_ends.open(now)
  return {
    now = now, now_text = tostring(now), cohorts = {}, bounds = {}, releases = {}, quotas = {},
    heads = {}, places = {}, briefs = {}, size = 0,
  }
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

--- The head of a brief under a lease, taken apart. Executions that were claimed together have the same.
local function head_of(call, text, fence)
  local known = call.heads[fence]
  if known and text:find(known.start, 1, true) == 1 then return known end
  local start = text:match('^a[^\n]*\n')
  if not start then return nil end
  local _, owner, due, claimed, steps, _, worker = brief.parse_head(start:sub(1, -2))
  if owner ~= fence or is_late(call, due) then return nil end
  local head = { start = start, fence = fence, claimed = claimed, steps = steps, worker = worker }
  call.heads[fence] = head
  return head
end

--- The same head at the end of an execution of this cohort.
local function ended(call, head, cohort, letter)
  if head.cohort ~= cohort or head.letter ~= letter then
    head.cohort, head.letter = cohort, letter
    head.ended = brief.head(
      letter, head.fence, cohort.due_text, head.claimed, head.steps, call.now_text, head.worker
    )
  end
  return head.ended
end

--- Note for its quotas that an execution no longer runs.
local function release(call, id, epoch, quotas)
  local shared = '\n' .. epoch .. '\n1\n' .. quotas
  local ids = call.releases[shared]
  if ids then
    ids[#ids + 1] = id
  else
    call.releases[shared] = { id }
  end
end

--- Those of these limits that count who runs, one per line.
local function quotas_of(call, list)
  if list == '' then return '' end
  if not call.quotas[list] then call.quotas[list] = table.concat(limits.quotas_of(list), '\n') end
  return call.quotas[list]
end

--- The cohort of executions at a place, and their quotas.
local function at_place(tag, call, place)
  local known = call.places[place]
  if not known then
    local tenant, lane, kind, list = brief.parts(place)
    known = { cohort_of(tag, call, tenant, lane, kind), quotas_of(call, list) }
    call.places[place] = known
  end
  return known[1], known[2]
end

--- End an execution by its brief, if the holder of this fence may, and the tenant if one is given. Returns
--- whether it has. `write` writes the brief.
function plain_ends.complete_brief(tag, id, key, text, fence, result, tenant, call)
  local head = head_of(call, text, fence)
  if not head then return false end
  local at = #head.start
  local place, born = text:match('^([^\n]*)\n(%d+)', at + 1)
  local cohort, quotas = at_place(tag, call, place)
  if tenant and cohort.tenant ~= tenant then return false end
  cohorts.add(cohort, id, born)
  if quotas ~= '' then release(call, id, '1', quotas) end
  local size, text_after = call.size, text:sub(at)
  if #result <= brief.MOST_BYTES then
    text_after = ended(call, head, cohort, 'c') .. text_after .. result
  else
    server.call('SET', keys.result(tag, id), result)
    text_after = ended(call, head, cohort, 'r') .. text_after
  end
  call.briefs[size + 1], call.briefs[size + 2] = key, text_after
  call.size = size + 2
  return true
end

--- Write the briefs of executions that have ended.
function plain_ends.write(call)
  if call.size > 0 then server.call('MSET', unpack(call.briefs)) end
end

--- End a plain execution with a hash, if the holder of this fence may. Returns whether it has.
function plain_ends.complete(tag, id, fence, result, content_type, last, call)
  local key = keys.record(tag, id)
  local found =
    server.call('HMGET', key, 'fence', 'state', 'plain', 'due', 'tenant', 'lane', 'kind', 'born')
  local plain = found[3]
  if found[1] ~= fence or found[2] ~= 'active' or plain ~= '1' and plain ~= '2' then return false end
  if is_late(call, found[4]) then return false end
  if plain == '2' then
    local list = server.call('HGET', key, 'limits') or limits.of(tag, id, { limited = '1' })
    local quotas = quotas_of(call, list)
    if quotas ~= '' then release(call, id, fence:match(':(%d+):%d+$'), quotas) end
  end
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
  local entries = {}
  for shared, ids in pairs(call.releases) do
    entries[#entries + 1] = 'r\n' .. table.concat(ids, ' ') .. shared
  end
  if #entries > 0 then outbox.put_many(tag, call.now, entries) end
  for _, cohort in ipairs(call.cohorts) do
    if cohort.size > 0 then
      index.shift(tag, cohort, 'active', 'completed')
      timers.arm_cohort(tag, cohort, cohort.due, call.now)
    end
  end
end
