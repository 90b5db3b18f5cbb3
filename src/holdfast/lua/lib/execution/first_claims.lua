--- First claims of plain executions: most claims are. Nothing but a few fields distinguishes them, so what
--- they have in common is worked out once for a call, and lists and timers are written once for a cohort. Members
--- of graphs that are not particular otherwise (`plain` is 3) are claimed here, too.
---
--- Those with limits are leased at once, too, if the caller asks their limits itself before anything runs, and
--- gives back what is not admitted.
--- @requires lib/core/keys lib/core/index lib/core/timers lib/core/cohorts lib/core/brief lib/execution/lease
--- @requires lib/execution/claims lib/graph/members
local first_claims = {}

--- What the claims of one call have in common. A `current` caller asks the limits of executions, and reads
--- lines of members with upstreams.
function first_claims.open(request, worker, lease_ms, now, current)
  local due = now + lease_ms
  local fence, due_text, now_text = lease.fence(request, 1, 0), tostring(due), tostring(now)
  return {
    fence = fence, worker = worker, due = due, due_text = due_text, now = now, now_text = now_text,
    -- The head of the briefs, unless it could not be read back.
    head = not (request .. worker):find('[%s%c]') and brief.head('a', fence, due_text, now_text, '-', '-', worker),
    cohorts = {}, inputs = {}, places = {}, briefs = {}, size = 0, mutes = {}, current = current,
  }
end

--- The cohort of the executions in a ready set.
local function cohort_of(call, stack)
  if stack.cohort then return stack.cohort end
  local kind, requires = stack.route.place:match('^(.*)|(.*)$')
  local tenant, lane = stack.seat.name, stack.route.lane
  local cohort = cohorts.new(tenant, lane, kind)
  cohort.place, cohort.requires = brief.place(tenant, lane, kind), requires
  cohort.start = 'w\n' .. cohort.place .. '\n'
  cohort.plain = table.concat({ '', tenant, lane, kind, call.due_text, requires }, ' ')
  cohort.shared = cohort.plain
  stack.cohort = cohort
  call.cohorts[#call.cohorts + 1] = cohort
  return cohort
end

--- The brief of the execution that was last taken from a stack, or nil, and the key of its record. Those of all
--- that the stack shows are read together.
local function brief_of(tag, stack)
  if stack.briefs_of ~= stack.rows then
    local records, size = {}, 0
    for i = 1, #stack.rows, 2 do
      size = size + 1
      records[size] = keys.record(tag, stack.rows[i])
    end
    stack.briefs_of, stack.records, stack.briefs = stack.rows, records, server.call('MGET', unpack(records))
  end
  local place = (stack.at - 1) / 2
  return stack.briefs[place], stack.records[place]
end

--- Add what the worker gets to `claimed`.
local function hand(tag, id, call, claimed, line, input)
  local size = #claimed
  claimed[size + 1], claimed[size + 2] = line, input or false
  if input then return end
  call.inputs[#call.inputs + 1] = keys.input(tag, id)
  call.places[#call.places + 1] = size + 2
end

--- Prepare a cohort for executions with the limits of this brief: how their briefs start, and what the worker
--- gets of them. Returns whether they can be leased.
local function turn_to(call, cohort, text)
  local place = brief.waits_at(text)
  local size = #cohort.place
  if not place or place:sub(1, size) ~= cohort.place then return false end
  local listed = place:match('^|(.*)$', size + 1)
  if #place > size and not (listed and call.current) then return false end
  cohort.start, cohort.shared = 'w\n' .. place .. '\n', cohort.plain .. (listed and ' ' .. listed or '')
  return true
end

--- Lease an execution by its brief. Returns whether it is leased.
local function take_brief(tag, id, stack, call, claimed, text, key)
  local cohort = cohort_of(call, stack)
  local born, input, extras = brief.handed(text, cohort.start)
  if not born then
    if not turn_to(call, cohort, text) then return false end
    born, input, extras = brief.handed(text, cohort.start)
  end
  local size, briefs = call.size, call.briefs
  briefs[size + 1], briefs[size + 2] = key, call.head .. text:sub(2)
  call.size = size + 2
  cohorts.add(cohort, id, born)
  local trace = extras and cmsgpack.unpack(extras).trace or ''
  hand(tag, id, call, claimed, id .. ' ' .. born .. '  ' .. trace .. cohort.shared, input)
  return true
end

--- Whether nothing but a few fields distinguishes an execution, and its graph, if it has one, is not being ended.
local function is_plain(tag, call, plain, graph)
  if plain ~= '3' then return plain == '1' end
  local mute = call.mutes[graph]
  if mute == nil then
    mute = server.call('HGET', keys.graph(tag, graph), 'mute')
    call.mutes[graph] = mute
  end
  return not mute
end

--- The row (lib/execution/claims) of a member that gets results of upstreams.
local function row_of(tag, id, call, cohort, found)
  return claims.hand(tag, id, {
    tenant = cohort.tenant, lane = cohort.lane, kind = cohort.kind, due = call.due_text,
    requires = cohort.requires ~= '' and cohort.requires or nil, attempts = '1', epoch = '1',
    born = found[5], priority = found[6] or nil, trace = found[7] or nil, input = found[8] or nil,
    graph = found[9], inputs = true,
  })
end

--- Lease an execution that was taken out of a ready set, if it was never claimed and is plain. Adds to
--- `claimed` what the worker gets: id, birth, priority, trace, tenant, lane, kind, expiry, requirements and
--- limits, if it has any, in one line, then the input. Of a member with upstreams a list follows the line: the
--- input, and what each upstream passes on. Returns whether it is leased, and whether it has a brief.
function first_claims.take(tag, id, stack, call, claimed)
  local text, key = brief_of(tag, stack)
  if text then return call.head and take_brief(tag, id, stack, call, claimed, text, key), true end
  -- Those of one ready set are much alike, so after the first that is different no other is looked at.
  if stack.differs then return false end
  local found = server.call(
    'HMGET', key, 'state', 'plain', 'attempts', 'tagged', 'born', 'priority', 'trace', 'input', 'graph', 'inputs'
  )
  local born, input, graph = found[5], found[8], found[9]
  if found[1] ~= 'waiting' or found[3] or found[4] or not is_plain(tag, call, found[2], graph) then
    stack.differs, stack.limited = true, found[2] == '2'
    return false
  end
  server.call(
    'HSET', key, 'state', 'active', 'attempts', '1', 'epoch', '1', 'fence', call.fence,
    'worker', call.worker, 'due', call.due_text, 'started', call.now_text, 'claimed', call.now_text
  )
  local cohort = cohort_of(call, stack)
  cohorts.add(cohort, id, born)
  if found[10] and not call.current then
    claimed[#claimed + 1] = row_of(tag, id, call, cohort, found)
    return true
  end
  local line = id .. ' ' .. born .. ' ' .. (found[6] or '') .. ' ' .. (found[7] or '') .. cohort.plain
  if found[10] then input = members.passed(tag, id, graph, input or server.call('GET', keys.input(tag, id))) end
  hand(tag, id, call, claimed, line, input)
  return true
end

--- Write the briefs, fill in the inputs that have keys of their own, list the executions as active and set their
--- timers.
function first_claims.close(tag, call, claimed)
  if call.size > 0 then server.call('MSET', unpack(call.briefs)) end
  if #call.inputs > 0 then
    for i, input in ipairs(server.call('MGET', unpack(call.inputs))) do claimed[call.places[i]] = input end
  end
  for _, cohort in ipairs(call.cohorts) do
    if cohort.size > 0 then
      index.shift(tag, cohort, 'waiting', 'active')
      timers.arm_cohort(tag, cohort, call.due, call.now)
    end
  end
end
