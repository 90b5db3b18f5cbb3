--- Append frames to the stream of an execution, all or none. Repeated with the same batch key, it
--- gets its first answer. Patches of the held document come with the document that they lead to.
--- @key tag the partition
--- @arg id @arg fence @arg batch key of this batch
--- @arg version of the document that was patched, or empty without patches @arg document patched
--- @arg frames per frame five values: type, encoding, 1 if live, place, payload; the middle three may
--- @arg be empty; of a place in the attempt that is taken already, nothing is written
--- @ok appended FIRST LAST VERSION: numbers of the frames, version of the document
--- @ok changed VERSION DOCUMENT: the document is another by now, nothing was written
--- @no execution_not_found | not_active | stale_lease | lease_revoked
--- @flags write @owned execution
--- @requires lib/core/keys lib/core/clock lib/core/record lib/execution/lease lib/stream/frames

-- Longer than any caller repeats a call whose reply it lost.
local MEMORY_MS = 60000

local function run(tag, args)
  local id, fence, batch, version, document = unpack(args, 1, 5)
  local now = clock.now(tag)
  local memory = keys.batch(tag, id, batch)
  local known = server.call('GET', memory)
  if known then
    local first, last, reached = known:match('^(%d+) (%d+) (%d+)$')
    return { 'ok', 'appended', tonumber(first), tonumber(last), tonumber(reached) }
  end
  local rec, refusal = lease.check(tag, id, fence, now)
  if not rec then return refusal end
  local stream = frames.open(tag, id)
  if version ~= '' and tonumber(version) ~= stream.version then
    return { 'ok', 'changed', stream.version, server.call('GET', keys.document(tag, id)) or '{}' }
  end

  local given, patches = {}, 0
  for i = 6, #args, 5 do
    local kind, encoding, live, place, payload = unpack(args, i, i + 4)
    given[#given + 1] =
      { type = kind, encoding = encoding, live = live ~= '', place = tonumber(place), payload = payload }
  end
  local added = frames.unsaid(stream, rec, given)
  for _, frame in ipairs(added) do
    if frame.type == 'summary' then patches = patches + 1 end
  end
  if patches > 0 then
    stream.version = stream.version + patches
    server.call('SET', keys.document(tag, id), document)
  end
  if not rec.streamed then record.write(tag, id, rec, { 'streamed', '1' }) end
  frames.append(tag, id, stream, rec, now, added)
  local first = stream.last - #added + 1
  local answer = ('%d %d %d'):format(first, stream.last, stream.version)
  server.call('SET', memory, answer, 'PX', MEMORY_MS)
  return { 'ok', 'appended', first, stream.last, stream.version }
end
