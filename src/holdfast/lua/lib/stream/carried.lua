--- Frames that a call brings along: their values, and the last ones of a holder whose attempt ends.
--- @requires lib/core/keys lib/core/record lib/stream/frames
local carried = {}

--- The frames in a list of values, five each, from `first` on.
function carried.frames(values, first, count)
  local found = {}
  for i = first, first + 5 * (count - 1), 5 do
    local kind, encoding, live, place, payload = unpack(values, i, i + 4)
    found[#found + 1] =
      { type = kind, encoding = encoding, live = live ~= '', place = tonumber(place), payload = payload }
  end
  return found
end

--- What frames need of the record of a holder.
function carried.holder(tag, id, tenant)
  local found = server.call('HMGET', keys.record(tag, id), 'attempts', 'turn', 'streamed')
  return { tenant = tenant, attempts = found[1], turn = found[2] or nil, streamed = found[3] or nil }
end

--- Write the last frames of a holder; `bounds` remembers those of tenants for one call.
function carried.conclude(tag, id, rec, last, now, bounds)
  local stream = frames.open(tag, id)
  local added = frames.unsaid(stream, rec, last)
  if not rec.streamed then record.write(tag, id, rec, { 'streamed', '1' }) end
  bounds[rec.tenant] = bounds[rec.tenant] or frames.bounds_of(tag, rec.tenant)
  frames.append(tag, id, stream, rec, now, added, bounds[rec.tenant])
end
