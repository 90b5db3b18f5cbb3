--- Pin a session to a revision, unless it has a pin that holds: then renew that one. A pin that no
--- longer holds or cannot be decoded is replaced in the same step.
--- @key tag the partition of the scope
--- @arg scope env, deployment and tenant @arg session @arg revision
--- @arg generation of the split that the caller knows @arg ttl_ms
--- @arg cap live pins of the scope @arg evict 1: at the cap, the pin that expires first goes
--- @arg roster REVISION=SINCE of those that take new sessions, separated by spaces
--- @ok hit REVISION GENERATION | miss | stale: both pinned | refused: the cap is reached
--- @flags write
--- @requires lib/core/clock lib/pin/pins

local function run(tag, args)
  local scope, session, revision, generation, ttl, cap, evict, roster = unpack(args)
  generation, ttl, cap = tonumber(generation), tonumber(ttl), tonumber(cap)
  local now = clock.now(tag)
  local pin, is_broken = pins.read(tag, scope, session, now)
  if pin and pins.holds(pin, generation, roster) then
    pins.renew(tag, scope, session, pin, generation, now)
    return { 'ok', 'hit', pin.revision, pin.generation }
  end

  -- A pin that replaces a live one adds none.
  local is_replaced = pin or is_broken
  local excess = is_replaced and 0 or pins.count(tag, scope, now) + 1 - cap
  if excess > 0 and evict ~= '1' then return { 'ok', 'refused' } end
  if excess > 0 then pins.evict(tag, scope, excess, now) end
  pins.trim(tag, scope, now)
  pins.write(tag, scope, session, { revision = revision, generation = generation, ttl = ttl }, now)
  return { 'ok', is_replaced and 'stale' or 'miss' }
end
