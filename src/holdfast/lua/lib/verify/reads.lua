--- Reads of `verify`: whole values, single members and sizes of keys, all of one moment. A brief reads as the
--- hash that it stands for.
--- @requires lib/core/brief
local reads = {}

--- How many values a read takes.
reads.WIDTH = 3

local VALUE = {
  string = { 'GET' },
  hash = { 'HGETALL' },
  set = { 'SMEMBERS' },
  zset = { 'ZRANGE', 0, -1, 'WITHSCORES' },
  list = { 'LRANGE', 0, -1 },
  stream = { 'XRANGE', '-', '+' },
}
local MEMBER = { hash = 'HGET', set = 'SISMEMBER', zset = 'ZSCORE' }
local SIZE = { hash = 'HLEN', set = 'SCARD', zset = 'ZCARD', list = 'LLEN', stream = 'XLEN', string = 'EXISTS' }

local ACT = {
  v = function(key, kind)
    local call = VALUE[kind]
    return server.call(call[1], key, unpack(call, 2))
  end,
  m = function(key, kind, member)
    local found = MEMBER[kind] and server.call(MEMBER[kind], key, member)
    return found ~= 0 and found
  end,
  n = function(key, kind) return server.call(SIZE[kind], key) end,
}

--- What a brief has of a hash, as names and values: of the record, or of the steps in it, which may be nil.
local function unfolded(text, family)
  local rec, flat = brief.read(text)
  local payloads = brief.folded(rec).payloads
  if family == 's' then return payloads.steps end
  payloads.steps = nil
  for name, bytes in pairs(payloads) do
    flat[#flat + 1] = name
    flat[#flat + 1] = bytes
  end
  return flat
end

--- What stands for the hash at a key. Nil if there is no brief, or no steps, or if it is damaged: then it reads as
--- the string that it is.
local function folded(tag, part, kind)
  local family, id = part:match('^([xs]):(.*)$')
  if kind ~= (family == 'x' and 'string' or family and 'none') then return nil end
  local text = server.call('MGET', tag .. ':x:' .. id)[1]
  if not text then return nil end
  local whole, flat = pcall(unfolded, text, family)
  return whole and flat or nil
end

--- What a read yields of such a hash.
local function read_flat(verb, flat, member)
  if verb == 'v' then return flat end
  if verb == 'n' then return #flat / 2 end
  for i = 1, #flat, 2 do
    if flat[i] == member then return flat[i + 1] end
  end
end

--- The answers to reads, each the type of the key and what was read, and their digest.
function reads.all(tag, args, first, count)
  local answers = {}
  for i = first, first + (count - 1) * reads.WIDTH, reads.WIDTH do
    local key = tag .. ':' .. args[i + 1]
    local kind = server.call('TYPE', key).ok
    local flat = folded(tag, args[i + 1], kind)
    local found
    if flat then
      kind, found = 'hash', read_flat(args[i], flat, args[i + 2])
    elseif kind ~= 'none' then
      found = ACT[args[i]](key, kind, args[i + 2])
    end
    answers[#answers + 1] = found and { kind, found } or { 'none' }
  end
  return answers, server.sha1hex(cmsgpack.pack(answers))
end
