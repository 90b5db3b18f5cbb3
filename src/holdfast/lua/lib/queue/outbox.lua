--- The outbox of a queue: dead letters, moved messages, and the pushes and submissions of a consumer's
--- ack. The call that causes an entry writes it, under the queue's own tag. Any process delivers it
--- afterwards, as often as it takes. A target accepts each entry once: entries of a target are
--- numbered, and it remembers the last number that it accepted.
--- The target '' is the engine, which gets executions to create.
--- @requires lib/core/keys lib/queue/queue
local queue_outbox = {}

queue_outbox.AGAIN_MS = 5000

function queue_outbox.put(q, target, entry)
  server.call('RPUSH', keys.queue_outbox(q.tag, target), entry)
  server.call('HSETNX', keys.sent(q.tag), target, 0)
  if not q.unsent then queue.arm(q, 'outbox', q.now) end
  q.unsent = true
end

--- Add a message for another queue.
function queue_outbox.put_message(q, target, message) queue_outbox.put(q, target, cmsgpack.pack(message)) end

--- Tells a queue from others of its name, before and after it.
function queue_outbox.incarnation(q) return q.secret:sub(1, 8) .. q.born end

--- The targets with entries, each with the number of the first entry and the entries.
function queue_outbox.list(q, limit)
  local found = {}
  local sent = server.call('HGETALL', keys.sent(q.tag))
  for i = 1, #sent, 2 do
    local entries = server.call('LRANGE', keys.queue_outbox(q.tag, sent[i]), 0, limit - 1)
    if #entries > 0 then found[#found + 1] = { sent[i], sent[i + 1] + 1, entries } end
  end
  return found
end

--- The target has accepted entries up to a number.
function queue_outbox.confirm(q, target, upto)
  local sent = tonumber(server.call('HGET', keys.sent(q.tag), target) or 0)
  if upto <= sent then return end
  server.call('LTRIM', keys.queue_outbox(q.tag, target), upto - sent, -1)
  server.call('HSET', keys.sent(q.tag), target, upto)
end

--- The number of entries for all targets.
function queue_outbox.size(q)
  local size = 0
  for _, target in ipairs(server.call('HKEYS', keys.sent(q.tag))) do
    size = size + server.call('LLEN', keys.queue_outbox(q.tag, target))
  end
  return size
end
