--- The pin of a session, if it holds; it is renewed. A pin that expired, no longer holds or cannot be
--- decoded is removed.
--- @key tag the partition of the scope
--- @arg scope env, deployment and tenant @arg session
--- @arg generation of the split that the caller knows @arg peek 1: change nothing
--- @arg roster REVISION=SINCE of those that take new sessions, separated by spaces
--- @ok hit REVISION GENERATION | miss | stale
--- @flags allow-oom
--- @requires lib/core/clock lib/pin/pins

local function run(tag, args)
  local scope, session, generation, peek, roster = unpack(args)
  generation = tonumber(generation)
  local now = clock.now(tag)
  local pin, is_broken = pins.read(tag, scope, session, now)
  if pin and pins.holds(pin, generation, roster) then
    if peek ~= '1' then pins.renew(tag, scope, session, pin, generation, now) end
    return { 'ok', 'hit', pin.revision, pin.generation }
  end
  if peek ~= '1' then pins.remove(tag, scope, { session }) end
  return { 'ok', (pin or is_broken) and 'stale' or 'miss' }
end
