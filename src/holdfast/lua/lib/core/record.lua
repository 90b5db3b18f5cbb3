--- The record of an execution: one hash, small values only, so that it keeps its compact encoding; or, as long as
--- nothing particular happens to it, one string (lib/core/brief), which a change unfolds to the hash.
--- `due` is when its state ends on its own: the lease of an active execution expires, a delayed one
--- starts, an ended one is removed, one that a limit holds back is examined again.
--- @requires lib/core/keys lib/core/brief
local record = {}

-- Fields that no end of an execution looks at, those that every record has, and those of limits. A record
-- with no others is `plain`: most are, and their ends are short. `plain` is 1, or 2 of one with limits and
-- without tags, or 3 of a member of a graph that waits for nothing but the success of others.
local PLAIN = {
  state = true, attempts = true, epoch = true, fence = true, worker = true, due = true, started = true,
  claimed = true, ended = true, born = true, tenant = true, lane = true, kind = true, requires = true,
  priority = true, rank = true, retry = true, give_up = true, max_reclaims = true, max_replays = true,
  key = true, digest = true, nonce = true, trace = true, tagged = true, tags = true, input = true,
  result = true, content_type = true, steps = true, plain = true, streamed = true, pct = true,
  progress_at = true, view = true, limited = true, limits = true, grant = true,
}

local OF_MEMBER = { graph = true, ins = true, need = true, met = true, inputs = true }

local TERMINAL = { completed = true, failed = true, cancelled = true, expired = true, skipped = true }

function record.is_terminal(state) return TERMINAL[state] == true end

--- A member that its graph has not started yet: it is invisible until the graph exists, and then it
--- waits like the others.
local function unstarted(tag, rec, flat)
  local state = server.call('HGET', keys.graph(tag, rec.graph), 'state')
  if not state or state == 'staging' then return nil end
  rec.state = 'waiting_children'
  for i = 1, #flat, 2 do
    if flat[i] == 'state' then flat[i + 1] = rec.state end
  end
  return rec, flat
end

--- The record of an execution that has a brief, as a table and as a flat list, or nil.
function record.read_brief(tag, id)
  -- Other than GET, this is no error if the record is a hash.
  local text = server.call('MGET', keys.record(tag, id))[1]
  if not text then return nil end
  return brief.read(text)
end

--- All fields as a table and as the flat list of the store, or nil if there is no such execution.
function record.read(tag, id)
  local rec, flat = record.read_brief(tag, id)
  if rec then return rec, flat end
  flat = server.call('HGETALL', keys.record(tag, id))
  if #flat == 0 then return nil end
  rec = {}
  for i = 1, #flat, 2 do rec[flat[i]] = flat[i + 1] end
  if rec.state == 'staged' then return unstarted(tag, rec, flat) end
  return rec, flat
end

--- The values of some fields, as HMGET returns them.
function record.get(tag, id, ...)
  local rec, values = record.read_brief(tag, id), {}
  if not rec then return server.call('HMGET', keys.record(tag, id), ...) end
  for i = 1, select('#', ...) do values[i] = rec[select(i, ...)] or false end
  return values
end

--- Turn the brief of `rec` into a hash, if it has one.
function record.unfold(tag, id, rec)
  local folded = brief.folded(rec)
  if not folded then return end
  local key = keys.record(tag, id)
  server.call('DEL', key)
  server.call('HSET', key, unpack(folded.flat))
  local payloads = folded.payloads
  if payloads.input then server.call('SET', keys.input(tag, id), payloads.input) end
  if payloads.result then server.call('SET', keys.result(tag, id), payloads.result) end
  if payloads.limits then server.call('SET', keys.limits(tag, id), payloads.limits) end
  if payloads.steps then server.call('HSET', keys.steps(tag, id), unpack(payloads.steps)) end
  setmetatable(rec, nil)
end

--- Whether all names of a flat list of names and values are plain, or those of a member.
function record.is_plain(flat, of_member)
  for i = 1, #flat, 2 do
    local name = flat[i]
    if not PLAIN[name] and not (of_member and OF_MEMBER[name]) then return false end
  end
  return true
end

--- Write `changes` (name, value pairs) to the store and to `rec`.
function record.write(tag, id, rec, changes)
  record.unfold(tag, id, rec)
  local plain = rec.plain
  if plain and plain ~= '0' and not record.is_plain(changes, plain == '3') then
    changes[#changes + 1] = 'plain'
    changes[#changes + 1] = '0'
  end
  server.call('HSET', keys.record(tag, id), unpack(changes))
  for i = 1, #changes, 2 do rec[changes[i]] = changes[i + 1] end
end

--- Set a field that is not plain in a record that was not read.
function record.mark(tag, id, name)
  local rec = record.read(tag, id)
  if rec then record.unfold(tag, id, rec) end
  server.call('HSET', keys.record(tag, id), name, '1', 'plain', '0')
end

--- Remove those of `names` that `rec` has.
function record.clear(tag, id, rec, names)
  local present
  for i = 1, #names do
    local name = names[i]
    if rec[name] then
      present = present or {}
      present[#present + 1] = name
      rec[name] = nil
    end
  end
  if not present then return end
  record.unfold(tag, id, rec)
  server.call('HDEL', keys.record(tag, id), unpack(present))
end

--- The index of the attempt that runs or is interrupted, or nil.
function record.open_attempt(rec)
  return (rec.state == 'active' or rec.open) and rec.attempts - 1 or nil
end

--- Whether a payload is kept in the record.
function record.is_inline(bytes) return #bytes <= brief.LISTED_BYTES end

--- Put a payload into `changes` if it is small, else into its own key.
function record.put_payload(key, field, bytes, changes)
  if record.is_inline(bytes) then
    changes[#changes + 1] = field
    changes[#changes + 1] = bytes
  else
    server.call('SET', key, bytes)
  end
end

--- Put a result into `changes`; an empty content type stands for JSON.
function record.put_result(tag, id, result, content_type, changes)
  record.put_payload(keys.result(tag, id), 'result', result, changes)
  if content_type ~= '' then
    changes[#changes + 1] = 'content_type'
    changes[#changes + 1] = content_type
  end
end

--- What the brief of a record has and its hash would not, by name, or nil: a payload, or steps.
function record.in_brief(rec, name)
  local folded = brief.folded(rec)
  return folded and folded.payloads[name]
end

function record.input(tag, id, rec)
  return rec.input or record.in_brief(rec, 'input') or server.call('GET', keys.input(tag, id))
end

function record.result(tag, id, rec)
  return rec.result or record.in_brief(rec, 'result') or server.call('GET', keys.result(tag, id))
end

--- The limits, one per line, or nil.
function record.limits(tag, id, rec)
  if not rec.limited then return nil end
  return rec.limits or record.in_brief(rec, 'limits') or server.call('GET', keys.limits(tag, id)) or nil
end

--- The tags as a flat list of names and values.
function record.tags(tag, id, rec)
  if not rec.tagged then return {} end
  return cmsgpack.unpack(rec.tags or server.call('GET', keys.tags(tag, id)))
end
