--- Write a value of a pack's state, if it has the expected version. Repeated with its token, it
--- gets the same answer.
--- @key tag the partition of the scope
--- @arg scope ENV|TENANT|PACK @arg name @arg value
--- @arg expected version; 0: there is none, empty: any @arg token of this call @arg ttl_ms or empty
--- @ok VERSION
--- @no version_conflict | state_full
--- @flags write
--- @requires lib/core/keys lib/core/clock lib/core/reply lib/state/entries

local function run(tag, args)
  local scope, name, value, expected, token, ttl = unpack(args)
  local now = clock.now(tag)
  local current = entries.read(tag, scope, name, now)
  if current and current.token == token then return { 'ok', current.version } end
  if expected ~= '' and tonumber(expected) ~= (current and current.version or 0) then
    return reply.no('version_conflict', 'key', name)
  end
  local over, freed = entries.over(tag, scope, now)
  local count = server.call('HLEN', keys.state(tag, scope)) - #over + (current and 0 or 1)
  local before = current and #current.value or 0
  if
    count > entries.MOST
    or entries.bytes(tag, scope) - freed - before + #value > entries.MOST_BYTES
  then
    return reply.no('state_full', 'scope', scope, 'names', entries.MOST, 'bytes', entries.MOST_BYTES)
  end

  for _, gone in ipairs(over) do entries.remove(tag, scope, gone) end
  local entry = { value = value, token = token }
  if ttl ~= '' then entry.until_ms = now + tonumber(ttl) end
  return { 'ok', entries.write(tag, scope, name, entry) }
end
