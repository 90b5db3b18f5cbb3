--- Operators' settings: one hash, with a copy in every partition.
---   lane|LANE = paused or draining      weight|LANE|TENANT = share of claims, default 1
---   keep|TENANT|STATE = retention in ms of ended executions, TENANT may be *; STATE may be session
---   rule|WHAT|NAME = limits of executions of this tenant, lane, kind or tag; rules = how many rules
---   archive = URL of the archive: ended executions are held back for it
---   former_archives = URLs of archives before it, where payloads may still be; Lua does not use it
---   offload = size in bytes from which on payloads are kept beside the archive; Lua does not use it
---   erasing, erased = marks of the erasure of a tenant that runs, and of the last; Lua does not use them
---   priority_ms = what a point of priority is worth, in ms of waiting
--- @requires lib/core/keys
local settings = {}

local DAY = 86400000
local KEEP = {
  completed = DAY, skipped = DAY, failed = 7 * DAY, cancelled = 7 * DAY, expired = 7 * DAY,
  session = 30 * DAY,
}
local PRIORITY_MS = 60000

function settings.lane(tag, lane) return server.call('HGET', keys.settings(tag), 'lane|' .. lane) end

function settings.weight(tag, lane, tenant)
  return tonumber(server.call('HGET', keys.settings(tag), 'weight|' .. lane .. '|' .. tenant) or 1)
end

function settings.keep(tag, tenant, state)
  local found = server.call(
    'HMGET',
    keys.settings(tag),
    'keep|' .. tenant .. '|' .. state,
    'keep|*|' .. state
  )
  return tonumber(found[1] or found[2] or KEEP[state])
end

--- The longest retention of a tenant, in ms.
function settings.longest(tag, tenant)
  local longest = 0
  for state in pairs(KEEP) do
    longest = math.max(longest, settings.keep(tag, tenant, state))
  end
  return longest
end

function settings.archive(tag) return server.call('HGET', keys.settings(tag), 'archive') end

--- Microseconds of rank that one point of priority is worth.
function settings.priority_us(tag)
  return tonumber(server.call('HGET', keys.settings(tag), 'priority_ms') or PRIORITY_MS) * 1000
end

--- Whether any rule adds limits to new executions.
function settings.has_rules(tag) return server.call('HEXISTS', keys.settings(tag), 'rules') == 1 end

--- The limits that a rule adds, one per line, or nil.
function settings.rule(tag, what, name)
  return server.call('HGET', keys.settings(tag), 'rule|' .. what .. '|' .. name) or nil
end
