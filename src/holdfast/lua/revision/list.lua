--- List the executions of this partition that need a revision: those that wait, the oldest first, then
--- those that run or are about to.
--- @key tag the partition
--- @arg tenant of the deployment @arg revision @arg from how many to leave out @arg limit
--- @ok per execution: ID STATE HOLD SINCE SESSION: HOLD may be empty, SINCE is in ms, SESSION is 1 or empty
--- @flags no-writes
--- @requires lib/core/record lib/deploy/needs

local function run(tag, args)
  local tenant, revision, from, limit = args[1], args[2], tonumber(args[3]), tonumber(args[4])
  local rows = { 'ok' }
  for _, id in ipairs(needs.page(tag, tenant, revision, from, limit)) do
    local rec = record.read(tag, id)
    if rec then
      local since = rec.since or math.floor(tonumber(rec.born) / 1000)
      rows[#rows + 1] = { id, rec.state, rec.hold or '', since, rec.session or '' }
    end
  end
  return rows
end
