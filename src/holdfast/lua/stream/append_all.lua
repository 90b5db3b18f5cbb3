--- Append batches of frames to the streams of executions, each batch all or none, each answered on its
--- own. Repeated with the same batch key, a batch gets its first answer. Patches of the held document
--- come with the document that they lead to. A frame is five values: type, encoding, 1 if live, place,
--- payload; the middle three may be empty. Of a place in the attempt that is taken already, nothing is
--- written.
--- @key tag the partition
--- @arg items id, fence, batch key, version of the patched document or empty, document, count, frames
--- @ok per item: appended FIRST LAST VERSION (numbers of the frames, version of the document), or
--- @ok changed VERSION DOCUMENT (it is another by now, nothing was written), or a refusal
--- @no execution_not_found | not_active | stale_lease | lease_revoked
--- @flags write @owned items
--- @requires lib/core/keys lib/core/clock lib/core/record lib/core/ownership lib/execution/lease
--- @requires lib/stream/frames lib/stream/carried

-- Longer than any caller repeats a call whose reply it lost.
local MEMORY_MS = 60000

local NEEDED = { 'plain', 'streamed', 'attempts', 'turn', 'tenant' }

--- Append the batch that begins at args[i]; `bounds` remembers those of tenants.
local function append(tag, args, i, count, now, bounds)
  local id, fence, batch, version, document = unpack(args, i, i + 4)
  local memory = keys.batch(tag, id, batch)
  local known = server.call('GET', memory)
  if known then
    local first, last, reached = known:match('^(%d+) (%d+) (%d+)$')
    return { 'ok', 'appended', tonumber(first), tonumber(last), tonumber(reached) }
  end
  local rec, refusal = lease.held(tag, id, fence, now, NEEDED), nil
  if not rec then rec, refusal = lease.check(tag, id, fence, now) end
  if not rec then return refusal end
  local stream = frames.open(tag, id)
  if version ~= '' and tonumber(version) ~= stream.version then
    return { 'ok', 'changed', stream.version, server.call('GET', keys.document(tag, id)) or '{}' }
  end

  local patches = 0
  local added = frames.unsaid(stream, rec, carried.frames(args, i + 6, count))
  for _, frame in ipairs(added) do
    if frame.type == 'summary' then patches = patches + 1 end
  end
  if patches > 0 then
    stream.version = stream.version + patches
    server.call('SET', keys.document(tag, id), document)
  end
  if not rec.streamed then record.write(tag, id, rec, { 'streamed', '1' }) end
  bounds[rec.tenant] = bounds[rec.tenant] or frames.bounds_of(tag, rec.tenant)
  frames.append(tag, id, stream, rec, now, added, bounds[rec.tenant])
  local first = stream.last - #added + 1
  local answer = ('%d %d %d'):format(first, stream.last, stream.version)
  server.call('SET', memory, answer, 'PX', MEMORY_MS)
  return { 'ok', 'appended', first, stream.last, stream.version }
end

local function run(tag, args, tenant)
  local now = clock.now(tag)
  local answers, bounds, i = { 'ok' }, {}, 1
  while i <= #args do
    local count = tonumber(args[i + 5])
    local refusal = tenant and ownership.execution(tag, args[i], tenant)
    answers[#answers + 1] = refusal or append(tag, args, i, count, now, bounds)
    i = i + 6 + 5 * count
  end
  return answers
end
