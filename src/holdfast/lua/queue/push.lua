--- Push messages in order. Each is accepted or refused independently.
--- @key tag the queue
--- @arg request id of this call; repeated, it gets the first answers
--- @arg items per item two values: its fields in msgpack, its body
--- @ok per item: ok, duplicate ID, or no CODE
--- @no queue_not_found | queue_full | dedup_conflict
--- @flags write
--- @requires lib/core/keys lib/queue/queue lib/queue/arrivals lib/queue/memory lib/queue/messages
--- @requires lib/queue/due

--- What is known of an item that was pushed before: id and digest, or nil.
local function find_known(q, item, fresh)
  local seen = item.seen and server.call('HGET', keys.seen(q.tag), item.seen)
  if seen then
    local id, digest, upto = unpack(cmsgpack.unpack(seen))
    if upto > q.now then return id, digest end
  end
  if not item.named then return nil end
  if fresh[item.id] then return item.id, fresh[item.id] end
  local rec = queue_messages.read_one(q, item.id)
  if rec then return item.id, rec.digest or '' end
  return nil
end

local function remember(q, item)
  if not item.seen or not q.window or q.window == 0 then return end
  local upto = q.now + q.window
  server.call('HSET', keys.seen(q.tag), item.seen, cmsgpack.pack({ item.id, item.digest, upto }))
  server.call('ZADD', keys.seen_until(q.tag), upto, item.seen)
  queue.arm(q, 'seen', upto)
end

local function run(tag, args)
  local q, refusal = queue.open(tag)
  if not q then return refusal end
  local known = queue_memory.recall(tag, args[1])
  if known then return cmsgpack.unpack(known) end
  local items, answers, accepted, fresh = {}, { 'ok' }, {}, {}
  for i = 2, #args, 2 do
    items[#items + 1] = cmsgpack.unpack(args[i])
    items[#items].body = args[i + 1]
  end
  queue_due.fire(q, 100)
  queue.close(q)
  local size = q.max_size and server.call('HLEN', keys.messages(tag)) or 0
  for i, item in ipairs(items) do
    local id, digest = find_known(q, item, fresh)
    if id and digest ~= item.digest then
      answers[i + 1] = { 'no', 'dedup_conflict' }
    elseif id then
      answers[i + 1] = { 'duplicate', id }
    elseif q.max_size and size >= q.max_size then
      answers[i + 1] = { 'no', 'queue_full' }
    else
      accepted[#accepted + 1], fresh[item.id] = item, item.digest or ''
      size = size + 1
      remember(q, item)
      answers[i + 1] = { 'ok' }
    end
  end
  queue_arrivals.add(q, accepted)
  queue_memory.keep(tag, args[1], cmsgpack.pack(answers))
  queue.close(q)
  return answers
end
