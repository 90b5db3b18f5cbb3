--- Apply a limit to new executions of a tenant, lane, kind or tag, or stop applying it.
--- @key tag the partition
--- @arg what tenant, lane, kind or tag @arg name @arg limit @arg wanted 1 or 0
--- @arg token of this call; older callers send none
--- @ok
--- @flags allow-oom
--- @requires lib/core/keys lib/core/settings lib/core/once

local function set(tag, args)
  local what, name, limit, wanted = unpack(args)
  local key, field = keys.settings(tag), 'rule|' .. what .. '|' .. name
  local kept, had = {}, false
  for known in (settings.rule(tag, what, name) or ''):gmatch('[^\n]+') do
    if known == limit then had = true else kept[#kept + 1] = known end
  end
  if had == (wanted == '1') then return { 'ok' } end

  if wanted == '1' then kept[#kept + 1] = limit end
  if #kept > 0 then
    server.call('HSET', key, field, table.concat(kept, '\n'))
  else
    server.call('HDEL', key, field)
  end
  local rules = server.call('HINCRBY', key, 'rules', wanted == '1' and 1 or -1)
  if rules == 0 then server.call('HDEL', key, 'rules') end
  return { 'ok' }
end

local function run(tag, args) return once.run(tag, args[5], set, args) end
