--- The limits of an execution: a list of `b:BUDGET` and `q:QUOTA`, one per line, fixed at its
--- creation. All must admit it each time before it runs. `limited` in the record says that there
--- are any, so an execution without limits pays for one nil check.
---
--- A claim gives such an execution a grant: it leaves the ready sets for a short time, under a new
--- epoch, while other partitions are asked. An unused grant ends by timer: an execution that
--- is waiting has a `due` time only while it is granted.
---
--- The first claim of most leases them at once (lib/execution/first_claims), and asks then. So under epoch 1 an
--- active execution may not be admitted yet, until its holder makes a call.
---
--- If a claim is repeated, two processes may ask for the same epoch, one of them after the other's work is done.
--- `asked_again` is that epoch: when it ends, limits void what may still be asked for it.
--- @requires lib/core/record lib/core/settings lib/execution/ready lib/core/timers
--- @requires lib/limit/outbox
local limits = {}

limits.GRANT_MS = 5000

function limits.of(tag, id, rec) return record.limits(tag, id, rec) or '' end

--- Add the limits to fields that are shown, where the record itself does not hold them.
function limits.show(tag, id, rec, flat)
  if rec.limited and not rec.limits then
    flat[#flat + 1] = 'limits'
    flat[#flat + 1] = limits.of(tag, id, rec)
  end
end

--- What a new execution is subject to: what was asked for, and what rules add. Nil for none.
function limits.resolve(tag, item)
  local found, seen = {}, {}
  local function add(list)
    for limit in (list or ''):gmatch('[^\n]+') do
      if not seen[limit] then
        seen[limit] = true
        found[#found + 1] = limit
      end
    end
  end
  add(item.limits)
  add(settings.rule(tag, 'tenant', item.tenant))
  add(settings.rule(tag, 'lane', item.lane))
  add(settings.rule(tag, 'kind', item.kind))
  local tags = item.tags or {}
  for i = 1, #tags, 2 do
    add(settings.rule(tag, 'tag', tags[i] .. '=' .. tags[i + 1]))
    -- A rule on the name alone counts each value apart.
    for limit in (settings.rule(tag, 'tag', tags[i]) or ''):gmatch('[^\n]+') do
      add(limit .. '#' .. tags[i + 1])
    end
  end
  return #found > 0 and table.concat(found, '\n') or nil
end

--- Whether an execution has a grant.
function limits.is_granted(rec) return rec.state == 'waiting' and rec.due ~= nil end

--- Whether a claim may be asking the limits of an execution now: it has a grant, or its first lease.
function limits.is_asking(rec)
  return limits.is_granted(rec) or rec.limited and rec.state == 'active' and rec.epoch == '1'
end

--- Take a limited execution out of reach of other claims: its id, epoch and limits.
function limits.grant(tag, id, rec, request, now)
  local epoch = tonumber(rec.epoch or 0) + 1
  record.clear(tag, id, rec, { 'woken' })
  record.write(tag, id, rec, { 'grant', request, 'epoch', epoch, 'due', now + limits.GRANT_MS })
  return { id, epoch, limits.of(tag, id, rec) }
end

--- Only those limits that count who runs.
function limits.quotas_of(list)
  local found = {}
  for limit in list:gmatch('[^\n]+') do
    if limit:sub(1, 2) == 'q:' then found[#found + 1] = limit end
  end
  return found
end

--- Note that the claim which asks the limits of an execution was repeated.
function limits.ask_again(tag, id, rec)
  if rec.limited and rec.asked_again ~= rec.epoch then record.write(tag, id, rec, { 'asked_again', rec.epoch }) end
end

--- Whether the limits of an execution that leaves its lease may be asked for its epoch after that.
local function may_be_asked(rec) return rec.epoch == '1' and not rec.by_holder or rec.asked_again == rec.epoch end

--- Report to the limits that an execution no longer runs or waits. `before` is the state that it
--- leaves.
function limits.leave(tag, id, rec, before, now)
  if before == 'active' and may_be_asked(rec) then
    outbox.put(tag, now, 'r', id, rec.epoch, 2, limits.of(tag, id, rec))
  elseif before == 'active' then
    local quotas = limits.quotas_of(limits.of(tag, id, rec))
    if #quotas > 0 then outbox.put(tag, now, 'r', id, rec.epoch, 1, unpack(quotas)) end
  elseif limits.is_granted(rec) then
    outbox.put(tag, now, 'r', id, rec.epoch, 0, limits.of(tag, id, rec))
  elseif before == 'rate_limited' or rec.woken then
    -- One that was woken has been promised a place, which others may have now.
    outbox.put(tag, now, 'r', id, rec.epoch, 0, rec.blocker or rec.woken)
  end
end

--- A grant was not used in time: its holder is gone, so another worker may claim.
function limits.expire(tag, id, rec, now)
  limits.leave(tag, id, rec, rec.state, now)
  limits.free(tag, id, rec, now)
end

--- Put an execution whose grant ends back among the ready ones.
function limits.free(tag, id, rec, now)
  record.clear(tag, id, rec, { 'due', 'woken' })
  ready.add(tag, id, rec)
  timers.arm(tag, id, rec, now)
end
