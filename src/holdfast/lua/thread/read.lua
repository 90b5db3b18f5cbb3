--- Checkpoints of a thread, the last first, with their values and writes.
--- @key tag the partition of the thread
--- @arg id TENANT|NAME @arg high @arg low the bounds of members, as ZRANGE BYLEX takes them
--- @arg limit how many at most
--- @ok per checkpoint: MEMBER CHECKPOINT, a list of NAME VALUE, a list of FIELD WRITE
--- @flags no-writes
--- @requires lib/core/keys lib/thread/threads

local function pairs_of(key, fields, first)
  local found = {}
  for i = first, #fields do
    local value = server.call('HGET', key, fields[i])
    if value then
      found[#found + 1] = fields[i]
      found[#found + 1] = value
    end
  end
  return found
end

local function run(tag, args)
  local id, high, low, limit = unpack(args)
  local members = server.call(
    'ZRANGE', keys.thread(tag, id), high, low, 'BYLEX', 'REV', 'LIMIT', 0, limit
  )
  local rows = {}
  for i, member in ipairs(members) do
    local mark = cmsgpack.unpack(server.call('HGET', keys.thread_marks(tag, id), member))
    rows[i] = {
      member,
      server.call('HGET', keys.checkpoints(tag, id), member),
      pairs_of(keys.thread_values(tag, id), mark, 2),
      pairs_of(keys.thread_writes(tag, id), threads.written(tag, id, member), 1),
    }
  end
  return { 'ok', rows }
end
