--- How a message ends for a group: acked, expired, dead (it goes to the dead-letter queue) or
--- dropped (there is none). Every way out of a queue but purge ends here, and is counted here.
--- @requires lib/core/keys lib/queue/queue lib/queue/messages lib/queue/order lib/queue/groups
--- @requires lib/queue/outbox
local queue_endings = {}

-- Of what was dropped the last ones are remembered, without their bodies.
local DROPPED = 100

--- Take a message away from a group. `try` is what is known of its hand-outs, if there were any.
function queue_endings.retire(q, group, id, rec, try, fate)
  local landed = try and try.landed
  queue_order.leave(q, group, id, rec, landed)
  if rec.ends then server.call('ZREM', keys.ttl(q.tag, group), id) end
  if try then
    queue.collect(q, 'HDEL', keys.tries(q.tag, group), id)
    if not landed then server.call('ZREM', keys.retry(q.tag, group), id) end
    if try.late then server.call('ZREM', keys.late(q.tag, group), id) end
    if try.handle then queue.collect(q, 'HDEL', keys.handles(q.tag), try.handle) end
  end
  queue.count(q, group, fate)
  if q.mode == 'work' then
    queue_messages.forget(q, id)
  else
    queue_groups.release(q, id, rec)
  end
end

local function envelope(q, group, id, try, reason)
  return {
    origin = queue.name(q.tag),
    group = group,
    id = id,
    attempts = try.n,
    first_at = try.first,
    last_at = q.now,
    reason = reason,
  }
end

--- Give a message up: it goes to the dead-letter queue with its envelope, or is dropped.
function queue_endings.give_up(q, group, id, rec, try, reason)
  local letter = envelope(q, group, id, try, reason)
  if q.dead_letter then
    queue_outbox.put_message(q, q.dead_letter, {
      id = id,
      body = queue_messages.body(q, id),
      key = rec.key,
      letter = cmsgpack.pack(letter),
    })
    queue_endings.retire(q, group, id, rec, try, 'dead')
  else
    server.call('LPUSH', keys.dropped(q.tag), cmsgpack.pack(letter))
    server.call('LTRIM', keys.dropped(q.tag), 0, DROPPED - 1)
    queue_endings.retire(q, group, id, rec, try, 'dropped')
  end
end
