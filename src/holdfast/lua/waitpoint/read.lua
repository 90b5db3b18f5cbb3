--- A waitpoint, for whoever has its token, which the caller has verified.
--- @key tag the partition
--- @arg id of the execution @arg number of the waitpoint
--- @arg made of the token @arg grace_until of the token's key, or empty
--- @ok PACKED
--- @no invalid_token | token_expired
--- @flags no-writes
--- @requires lib/clock lib/record lib/waitpoints lib/senders

local function run(tag, args)
  local id, number = args[1], tonumber(args[2])
  local point = record.read(tag, id) and waitpoints.read(tag, id, number)
  local token = { made = args[3], grace_until = args[4] }
  return senders.refuse_token(point, clock.now(tag), token) or { 'ok', cmsgpack.pack(point) }
end
