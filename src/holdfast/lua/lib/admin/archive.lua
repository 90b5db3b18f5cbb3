--- Executions on their way to the archive. While an archive is set, an execution whose retention is
--- over is kept until the archiver has committed it.
--- @requires lib/core/keys lib/core/record lib/core/settings lib/core/index lib/core/timers
--- @requires lib/execution/children lib/core/causes
local archive = {}

-- The data of an execution beside its record: the name of the section, its key, how it is read and
-- written, and whether a record has it. Any further data of executions gets a line here.
local function streamed(rec) return rec.streamed end
local function waited(rec) return rec.waitpoints end
local function mailed(rec) return rec.mail end

local SECTIONS = {
  { 'input', keys.input, 'GET', 'SET', function(rec) return not rec.input end },
  { 'result', keys.result, 'GET', 'SET', function(rec) return rec.state == 'completed' and not rec.result end },
  { 'tags', keys.tags, 'GET', 'SET', function(rec) return rec.tagged and not rec.tags end },
  { 'note', keys.note, 'GET', 'SET', function(rec) return rec.pct end },
  { 'view', keys.view, 'GET', 'SET', function(rec) return rec.view end },
  { 'log', keys.log, 'LRANGE', 'RPUSH', function() return true end },
  { 'steps', keys.steps, 'HGETALL', 'HSET', function(rec) return rec.steps end },
  { 'limits', keys.limits, 'GET', 'SET', function(rec) return rec.limited and not rec.limits end },
  { 'waitpoints', keys.waitpoints, 'HGETALL', 'HSET', waited },
  { 'wait', keys.wait, 'GET', 'SET', waited },
  { 'signals', keys.signals, 'LRANGE', 'RPUSH', waited },
  { 'signal_keys', keys.signal_keys, 'HGETALL', 'HSET', waited },
  { 'unread', keys.unread, 'LRANGE', 'RPUSH', mailed },
  { 'mail', keys.mail, 'HGETALL', 'HSET', mailed },
  { 'stream', keys.stream, 'HGETALL', 'HSET', streamed },
  { 'document', keys.document, 'GET', 'SET', streamed },
  { 'frames', keys.frames, 'XRANGE', 'XADD', streamed },
}

--- Count a member of a removed graph that waits from now on (1), or no longer (-1). With the last one goes the
--- record of the graph, which kept its id taken.
local function count(tag, graph, change)
  local key = keys.graph(tag, graph)
  if not server.call('HGET', key, 'gone') then return end
  local left = server.call('HINCRBY', key, 'held', change)
  if left <= 0 and server.call('EXISTS', keys.graph_members(tag, graph)) == 0 then server.call('UNLINK', key) end
end

--- Keep an execution whose retention is over. False if it can be removed: no archive is set, or it
--- came from the archive and has not run since.
function archive.hold(tag, id, rec)
  if not settings.archive(tag) or rec.archived == (rec.replays or '0') then return false end
  local is_new = server.call('ZADD', keys.unarchived(tag), rec.born, id) == 1
  if is_new and rec.graph then count(tag, rec.graph, 1) end
  record.clear(tag, id, rec, { 'due' })
  server.call('ZREM', keys.timers(tag), 'x:' .. id)
  return true
end

--- The execution runs again, or is gone.
function archive.leave(tag, id, rec)
  local waited = server.call('ZREM', keys.unarchived(tag), id) == 1
  if waited and rec and rec.graph then count(tag, rec.graph, -1) end
end

local function read_section(read, key)
  if read == 'LRANGE' then return server.call(read, key, 0, -1) end
  if read ~= 'XRANGE' then return server.call(read, key) end
  local rows = server.call(read, key, '-', '+')
  for i, row in ipairs(rows) do rows[i] = cmsgpack.pack(row) end
  return rows
end

local CHUNK = 1000

local function write_section(write, key, value)
  if type(value) == 'string' then
    server.call(write, key, value)
  elseif write == 'XADD' then
    for _, packed in ipairs(value) do
      local row = cmsgpack.unpack(packed)
      server.call(write, key, row[1], unpack(row[2]))
    end
  else
    for from = 1, #value, CHUNK do
      server.call(write, key, unpack(value, from, math.min(from + CHUNK - 1, #value)))
    end
  end
end

--- Everything of an execution: id, fields as name, value pairs, sections as name, value pairs; and its
--- size in bytes.
function archive.export(tag, id, rec)
  local fields, sections, size = {}, {}, 0
  for name, value in pairs(rec) do
    fields[#fields + 1] = name
    fields[#fields + 1] = value
    size = size + #name + #value
  end
  for _, section in ipairs(SECTIONS) do
    local name, key, read, _, owned = unpack(section)
    if owned(rec) then
      local value = record.in_brief(rec, name) or read_section(read, key(tag, id))
      if value and #value > 0 then
        sections[#sections + 1] = name
        sections[#sections + 1] = value
        if type(value) == 'string' then value = { value } end
        for _, part in ipairs(value) do size = size + #part end
      end
    end
  end
  return { id, fields, sections }, size
end

--- Write back an execution that `export` returned; `rec` is its record.
function archive.restore(tag, id, rec, values, now)
  local fields = {}
  for name, value in pairs(rec) do
    fields[#fields + 1] = name
    fields[#fields + 1] = value
  end
  server.call('HSET', keys.record(tag, id), unpack(fields))
  for _, section in ipairs(SECTIONS) do
    local name, key, _, write = unpack(section)
    if values[name] then write_section(write, key(tag, id), values[name]) end
  end
  index.enter(tag, id, rec)
  if rec.cause then causes.enter(tag, id, rec) end
  index.add_tags(tag, id, rec, record.tags(tag, id, rec))
  children.add(tag, id, rec)
  timers.arm(tag, id, rec, now)
end
