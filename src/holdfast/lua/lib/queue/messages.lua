--- The messages of a queue. A record is small and in msgpack; bodies are bytes apart from it.
---   rank      its place among the messages of its queue
---   position  when it arrived, in us, unique; groups of a FANOUT queue read in this order
---   born      when it was pushed      ends  when it expires
---   key       its ordering key        only  the one group that it is for
---   digest    of its content          letter  the envelope of a dead letter, in msgpack
---   side, priority  where it goes, while it is delayed
--- @requires lib/core/keys lib/queue/queue
local queue_messages = {}

--- Records by id; ids without a message are absent.
function queue_messages.read(q, ids)
  local found, packed = {}, server.call('HMGET', keys.messages(q.tag), unpack(ids))
  for i, id in ipairs(ids) do
    if packed[i] then found[id] = cmsgpack.unpack(packed[i]) end
  end
  return found
end

function queue_messages.read_one(q, id)
  local packed = server.call('HGET', keys.messages(q.tag), id)
  return packed and cmsgpack.unpack(packed)
end

--- Write records; `many` is a list of { id, rec }.
function queue_messages.write(q, many)
  local flat = {}
  for _, one in ipairs(many) do
    flat[#flat + 1] = one[1]
    flat[#flat + 1] = cmsgpack.pack(one[2])
  end
  if #flat > 0 then server.call('HSET', keys.messages(q.tag), unpack(flat)) end
end

function queue_messages.body(q, id) return server.call('HGET', keys.bodies(q.tag), id) end

--- Remove a message at the end of the call.
function queue_messages.forget(q, id)
  queue.collect(q, 'HDEL', keys.messages(q.tag), id)
  queue.collect(q, 'HDEL', keys.bodies(q.tag), id)
end

function queue_messages.is_over(q, rec) return rec.ends ~= nil and rec.ends <= q.now end

--- Give a message its position and its rank. The right end is the time of arrival; the left end is
--- before everything else, the last one first.
function queue_messages.place(q, rec)
  q.stamp = math.max(q.now * 1000, (q.stamp or 0) + 1)
  rec.position, rec.rank = q.stamp, q.stamp
  if rec.side == 'left' then
    q.low = (q.low or 0) - 1
    rec.rank, q.mixed = q.low, '1'
  end
  if rec.priority and q.priority == '1' then
    rec.rank, q.mixed = rec.rank - rec.priority * q.ageing * 1000, '1'
  end
  rec.side, rec.priority = nil, nil
end

--- Remember the last places that were given.
function queue_messages.save_places(q)
  server.call(
    'HSET', keys.queue(q.tag), 'stamp', q.stamp or 0, 'low', q.low or 0, 'mixed', q.mixed or '0'
  )
end
