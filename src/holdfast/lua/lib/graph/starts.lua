--- Members whose upstreams complete, while nothing else about them is particular (`plain` is 3): most are such.
--- What becomes of them in a call is written together, and a member that several upstreams meet is read and
--- written once. Nothing else may happen to members before `write`, so that the moves of each are in their order.
--- @requires lib/core/keys lib/core/cohorts lib/core/index lib/execution/ready
local starts = {}

-- Members that are written together; Lua cannot pass many more values.
local MOST = 1000

--- A batch for one call.
function starts.new(tag) return { tag = tag, members = {}, changed = {}, size = 0 } end

local function read(batch, id)
  local found = server.call(
    'HMGET', keys.record(batch.tag, id),
    'state', 'plain', 'met', 'need', 'tenant', 'lane', 'kind', 'born', 'rank', 'requires'
  )
  local member = {
    id = id, state = found[1], plain = found[2], met = tonumber(found[3] or 0), need = tonumber(found[4] or 0),
    tenant = found[5], lane = found[6], kind = found[7], born = found[8], rank = found[9] or nil,
    requires = found[10] or nil,
  }
  batch.members[id] = member
  return member
end

--- An upstream of a member has completed. Returns false if the member is particular: `write`, then see to it.
function starts.meet(batch, id)
  local member = batch.members[id] or read(batch, id)
  -- It has ended, or was started by others.
  if member.state ~= 'waiting_children' then return member.state ~= 'staged' end
  if member.plain ~= '3' then return false end
  member.met = member.met + 1
  if not member.is_changed then
    member.is_changed = true
    batch.size = batch.size + 1
    batch.changed[batch.size] = member
  end
  if member.met >= member.need then member.state = 'waiting' end
  if batch.size >= MOST then starts.write(batch) end
  return true
end

--- Write the members; those whose upstreams are all met are ready.
function starts.write(batch)
  if batch.size == 0 then
    batch.members = {}
    return
  end
  local tag, started, all = batch.tag, {}, {}
  for _, member in ipairs(batch.changed) do
    local key = keys.record(tag, member.id)
    if member.state == 'waiting' then
      server.call('HSET', key, 'state', 'waiting', 'met', member.met)
      started[#started + 1] = { member.id, member }
      cohorts.add(cohorts.of(all, member.tenant, member.lane, member.kind), member.id, member.born)
    else
      server.call('HSET', key, 'met', member.met)
    end
  end
  batch.members, batch.changed, batch.size = {}, {}, 0
  for _, cohort in ipairs(all) do index.shift(tag, cohort, 'waiting_children', 'waiting') end
  ready.add_many(tag, started)
end
