--- Read keys of a partition at one moment.
--- @key tag the partition
--- @arg reads per read three values: v for the value, m for a member or n for the size; key; member
--- @ok NOW, a digest of the answers, then per read the type of the key and what was read
--- @flags no-writes
--- @requires lib/core/clock lib/verify/reads

local function run(tag, args)
  local answers, digest = reads.all(tag, args, 1, #args / reads.WIDTH)
  return { 'ok', clock.now(tag), digest, answers }
end
