--- A waitpoint, for the holder of its token, which the caller has verified.
--- @key tag the partition
--- @arg id of the execution @arg number of the waitpoint
--- @arg made of the token @arg grace_until of the token's key, or empty @arg person that the token names
--- @ok PACKED
--- @no invalid_token | token_expired
--- @flags no-writes
--- @requires lib/core/clock lib/core/record lib/waitpoint/waitpoints lib/waitpoint/suspensions
--- @requires lib/waitpoint/senders

local function run(tag, args)
  local id, number = args[1], tonumber(args[2])
  local rec = record.read(tag, id)
  local point = rec and waitpoints.read(tag, id, number)
  local token = { made = args[3], grace_until = args[4], person = args[5] }
  local refusal = senders.refuse_token(point, clock.now(tag), token)
  return refusal or { 'ok', suspensions.shown(tag, id, rec, number, cmsgpack.pack(point)) }
end
