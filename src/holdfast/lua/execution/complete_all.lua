--- End executions with their results, and with the last frames of their streams. Each is answered on its
--- own. A call that the same holder repeats gets the same answer.
--- @key tag the partition
--- @arg items id, fence, result, content_type (empty for JSON), count, frames: five values each
--- @ok per item: ok, or a refusal
--- @no execution_not_found | not_active | stale_lease | lease_revoked
--- @event completed
--- @flags allow-oom @owned items
--- @requires lib/core/clock lib/core/keys lib/core/record lib/core/ownership lib/execution/lease
--- @requires lib/execution/finish lib/execution/plain_ends lib/stream/carried lib/graph/member_ends

local OK = { 'ok' }

--- End an execution that is not plain, or refuse to.
local function complete(tag, id, fence, result, content_type, last, call)
  local rec, refusal, ended = lease.check_ending(tag, id, fence, call.now, 'completed')
  if not rec then return ended and OK or refusal end
  if last then carried.conclude(tag, id, rec, last, call.now, call.bounds) end
  local changes = {}
  record.put_result(tag, id, result, content_type, changes)
  finish.now(tag, id, rec, 'completed', call.now, changes)
  return OK
end

--- The positions of items in the arguments, the keys of their records, and which have nothing but a result: of
--- two items of one execution, only the first.
local function survey(tag, args)
  local places, records, bare, known, i, size = {}, {}, {}, {}, 1, 0
  while i <= #args do
    local id, count = args[i], args[i + 4]
    size = size + 1
    places[size], records[size] = i, keys.record(tag, id)
    bare[size] = count == '0' and args[i + 3] == '' and not known[id]
    known[id] = true
    i = i + 5 + (count ~= '0' and 5 * count or 0)
  end
  return places, records, bare
end

--- Unfold the brief of an execution that this holder may end. Returns whether it was one.
local function unfold(tag, id, fence, now)
  local rec = lease.held(tag, id, fence, now, {})
  if not rec then return false end
  record.unfold(tag, id, rec)
  return true
end

--- End an execution by its record, or refuse to.
local function end_one(tag, args, i, has_brief, tenant, call)
  local id, fence, result, content_type, count = unpack(args, i, i + 4)
  local last = count ~= '0' and carried.frames(args, i + 5, count) or nil
  local refusal = tenant and ownership.execution(tag, id, tenant)
  if refusal then return refusal end
  local has_hash = not has_brief or unfold(tag, id, fence, call.now)
  local is_related = has_hash and id:find('~', 1, true)
  if is_related and member_ends.complete(call.members, id, fence, result, content_type, last) then return OK end
  if has_hash and plain_ends.complete(tag, id, fence, result, content_type, last, call) then return OK end
  member_ends.write(call.members)
  return complete(tag, id, fence, result, content_type, last, call)
end

local function run(tag, args, tenant)
  local call, answers = plain_ends.open(clock.now(tag)), { 'ok' }
  local places, records, bare = survey(tag, args)
  local briefs = server.call('MGET', unpack(records))
  for n, i in ipairs(places) do
    local text = bare[n] and briefs[n]
    local ended = text and plain_ends.complete_brief(
      tag, args[i], records[n], text, args[i + 1], args[i + 2], tenant, call
    )
    answers[n + 1] = ended and OK
  end
  plain_ends.write(call)
  call.members = member_ends.open(tag, call.now, call.bounds)
  for n, i in ipairs(places) do
    answers[n + 1] = answers[n + 1] or end_one(tag, args, i, briefs[n], tenant, call)
  end
  member_ends.write(call.members)
  plain_ends.close(tag, call)
  return answers
end
