--- Repair keys of a partition, if what was read of them is unchanged.
--- @key tag the partition
--- @arg digest of the answers to the reads @arg count of the reads
--- @arg reads as of `read`, then the repairs: how many values, the command, the key and the rest
--- @ok mended | changed
--- @flags allow-oom
--- @requires lib/verify/reads lib/core/wake lib/core/record

local ALLOWED = {
  ZADD = true,
  ZREM = true,
  SADD = true,
  SREM = true,
  HSET = true,
  HDEL = true,
  UNLINK = true,
}

--- Readers of what became ready look for it, and timers are fired that are due.
local function announce(tag, key)
  if key == 'timers' then return wake.ticker(tag) end
  local lane = key:match('^q:([^|]*)|')
  if lane then return wake.lane(tag, lane) end
  if key:match('^open:') then wake.lane(tag, 'messages') end
end

local function unfold(tag, id)
  local rec = record.read_brief(tag, id)
  if rec then record.unfold(tag, id, rec) end
end

local function run(tag, args)
  local count = tonumber(args[2])
  local _, digest = reads.all(tag, args, 3, count)
  if digest ~= args[1] then return { 'ok', 'changed' } end
  local i = 3 + count * reads.WIDTH
  while i <= #args do
    local width, verb, key = tonumber(args[i]), args[i + 1], args[i + 2]
    if not ALLOWED[verb] then error('verify: no repair uses ' .. verb) end
    if key:find('^x:') then unfold(tag, key:sub(3)) end
    server.call(verb, tag .. ':' .. key, unpack(args, i + 3, i + width))
    announce(tag, key)
    i = i + width + 1
  end
  return { 'ok', 'mended' }
end
