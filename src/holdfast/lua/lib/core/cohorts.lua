--- Executions that one call moves together. Those of a cohort have tenant, lane and kind in common, so one
--- command writes each of their lists.
local cohorts = {}

--- A cohort without members.
function cohorts.new(tenant, lane, kind)
  return { tenant = tenant, lane = lane, kind = kind, size = 0, ids = {}, births = {} }
end

--- The cohort in a list of this tenant, lane and kind; added if it is missing. Most calls have one or a few.
function cohorts.of(list, tenant, lane, kind)
  for i = #list, 1, -1 do
    local cohort = list[i]
    if cohort.tenant == tenant and cohort.lane == lane and cohort.kind == kind then return cohort end
  end
  local cohort = cohorts.new(tenant, lane, kind)
  list[#list + 1] = cohort
  return cohort
end

--- Add an execution. `births` is a flat list of births and ids, as ZADD takes it.
function cohorts.add(cohort, id, born)
  local size, births = cohort.size + 1, cohort.births
  cohort.size = size
  cohort.ids[size] = id
  births[2 * size - 1] = born
  births[2 * size] = id
end
