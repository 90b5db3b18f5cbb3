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

--- The brief at a key, or nil.
local function brief_of(part, key, kind)
  return kind == 'string' and part:find('^x:') and server.call('GET', key) or nil
end

--- What a read yields of a brief.
local function read_brief(verb, text, member)
  local rec, flat = brief.read(text)
  if verb == 'm' then return rec[member] end
  if verb == 'n' then return #flat / 2 end
  for name, bytes in pairs(brief.folded(rec).payloads) do
    flat[#flat + 1] = name
    flat[#flat + 1] = bytes
  end
  return flat
end

--- The answers to reads, each the type of the key and what was read, and their digest.
function reads.all(tag, args, first, count)
  local answers = {}
  for i = first, first + (count - 1) * reads.WIDTH, reads.WIDTH do
    local key = tag .. ':' .. args[i + 1]
    local kind = server.call('TYPE', key).ok
    local text = brief_of(args[i + 1], key, kind)
    local found
    if text then
      kind, found = 'hash', read_brief(args[i], text, args[i + 2])
    elseif kind ~= 'none' then
      found = ACT[args[i]](key, kind, args[i + 2])
    end
    answers[#answers + 1] = found and { kind, found } or { 'none' }
  end
  return answers, server.sha1hex(cmsgpack.pack(answers))
end
