--- Accept messages from the outbox of another queue: dead letters, moved and forwarded messages.
--- Each is accepted once, and none is refused: it was accepted before.
--- @key tag the queue
--- @arg origin the other queue and its incarnation @arg first number of the first entry
--- @arg entries messages in msgpack
--- @ok LAST number that was taken
--- @no queue_not_found
--- @flags allow-oom
--- @requires lib/core/keys lib/queue/queue lib/queue/arrivals lib/queue/messages

--- Ids of stored messages are unique; one that is taken gets a name beside it.
local function free_id(q, id, fresh, number)
  if not fresh[id] and not queue_messages.read_one(q, id) then return id end
  return id .. '~' .. number
end

local function run(tag, args)
  local origin, first = args[1], tonumber(args[2])
  local q, refusal = queue.open(tag)
  if not q then return refusal end
  local last = tonumber(server.call('HGET', keys.inbox(tag), origin) or 0)
  local items, fresh = {}, {}
  for i = 3, #args do
    local number = first + i - 3
    if number > last then
      local item = cmsgpack.unpack(args[i])
      item.id = free_id(q, item.id, fresh, number)
      fresh[item.id] = true
      items[#items + 1] = item
      last = number
    end
  end
  if #items > 0 then
    queue_arrivals.add(q, items)
    server.call('HSET', keys.inbox(tag), origin, last)
    queue.close(q)
  end
  return { 'ok', last }
end
