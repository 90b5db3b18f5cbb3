--- End executions with their results. Each is answered on its own. A call that the same holder repeats
--- gets the same answer.
--- @key tag the partition
--- @arg items per item four values: id, fence, result, content_type, which is empty for JSON
--- @ok per item: ok, or a refusal
--- @no execution_not_found | not_active | stale_lease | lease_revoked
--- @event completed
--- @flags allow-oom @owned items
--- @requires lib/core/keys lib/core/clock lib/core/record lib/core/ownership lib/execution/lease
--- @requires lib/execution/finish lib/core/settings

local OK = { 'ok' }

--- The changes of a result to a record.
local function changes_of(tag, id, result, content_type)
  local changes = {}
  record.put_payload(keys.result(tag, id), 'result', result, changes)
  if content_type ~= '' then
    changes[#changes + 1] = 'content_type'
    changes[#changes + 1] = content_type
  end
  return changes
end

local function run(tag, args, tenant)
  local now = clock.now(tag)
  local answers, plain, kept = { 'ok' }, {}, {}
  for i = 1, #args, 4 do
    local id, fence = args[i], args[i + 1]
    local refusal = tenant and ownership.execution(tag, id, tenant)
    local rec = not refusal and lease.plain(tag, id, fence, now)
    if rec then
      kept[rec.tenant] = kept[rec.tenant] or settings.keep(tag, rec.tenant, 'completed')
      rec.keep = kept[rec.tenant]
      finish.write(tag, id, rec, 'completed', now, changes_of(tag, id, args[i + 2], args[i + 3]))
      plain[#plain + 1] = { id, rec }
    elseif not refusal then
      local ended
      rec, refusal, ended = lease.check_ending(tag, id, fence, now, 'completed')
      if rec then finish.now(tag, id, rec, 'completed', now, changes_of(tag, id, args[i + 2], args[i + 3])) end
      if ended then refusal = nil end
    end
    answers[#answers + 1] = refusal or OK
  end
  if #plain > 0 then finish.list(tag, plain, 'active', now) end
  return answers
end
