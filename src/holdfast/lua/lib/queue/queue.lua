--- A message queue as one call of a function sees it. `open` reads the definition; what the call
--- counts, forgets and wakes is collected and written once, by `close`.
--- @requires lib/core/keys lib/core/clock lib/core/reply lib/core/wake
local queue = {}

--- The one group of a WORK queue.
queue.DEFAULT = 'default'

--- The topic that wakes readers of the queue.
queue.TOPIC = 'messages'

--- The queue ticker visits a queue at least this often.
queue.LONGEST_SLEEP_MS = 30000

local NUMBERS = {
  'max_attempts', 'lock', 'window', 'ttl', 'max_size', 'ageing', 'cap', 'consumer_cap', 'stamp', 'low',
  'tick_at',
}

function queue.name(tag) return tag:match('{m:(.+)}$') end

--- The queue, or nil and a refusal.
function queue.open(tag)
  local flat = server.call('HGETALL', keys.queue(tag))
  if #flat == 0 then return nil, reply.no('queue_not_found', 'queue', queue.name(tag)) end
  local q = {}
  for i = 1, #flat, 2 do q[flat[i]] = flat[i + 1] end
  for _, name in ipairs(NUMBERS) do q[name] = tonumber(q[name]) end
  q.tag, q.now = tag, clock.now(tag)
  q.counts, q.consumers, q.lists = {}, {}, {}
  return q
end

--- The name of a group, or nil and a refusal. A WORK queue has one group, which need not be named.
function queue.group(q, name)
  if q.mode == 'work' then
    if name == '' or name == queue.DEFAULT then return queue.DEFAULT end
  elseif name ~= '' and server.call('ZSCORE', keys.groups(q.tag), name) then
    return name
  end
  return nil, reply.no('group_not_found', 'group', name, 'queue', queue.name(q.tag))
end

--- Both at once.
function queue.open_group(tag, name)
  local q, refusal = queue.open(tag)
  if not q then return nil, refusal end
  local group
  group, refusal = queue.group(q, name)
  if not group then return nil, refusal end
  return q, group
end

function queue.is_paused(q, group) return q['paused|'] ~= nil or q['paused|' .. group] ~= nil end

--- Whether a message with this many hand-outs may have no further one. Dead letters have no maximum.
function queue.is_spent(q, attempts) return not q.dlq and attempts >= q.max_attempts end

--- Count something for a group, or for the queue itself, which is the group ''.
function queue.count(q, group, name, by)
  local counts = q.counts[group] or {}
  q.counts[group] = counts
  counts[name] = (counts[name] or 0) + (by or 1)
end

--- Change how many deliveries a consumer holds.
function queue.hold(q, group, consumer, by)
  local held = q.consumers[group] or {}
  q.consumers[group] = held
  held[consumer] = (held[consumer] or 0) + by
end

--- Have `close` call a command with all values that were collected for its key, one or two at a
--- time: one call for many. A key has one such command.
function queue.collect(q, verb, key, first, second)
  local list = q.lists[key]
  if not list then
    list = { verb, key }
    q.lists[key] = list
  end
  list[#list + 1] = first
  if second then list[#list + 1] = second end
end

--- Set a timer of the queue, unless it is set to an earlier time.
function queue.arm(q, member, due)
  server.call('ZADD', keys.timers(q.tag), 'LT', due, member)
  local planned = q.tick_at or 0
  if planned > q.now and due < planned then q.tick_at, q.tick = due, true end
end

--- When something is next due, or nil.
function queue.next_due(q)
  return tonumber(server.call('ZRANGE', keys.timers(q.tag), 0, 0, 'WITHSCORES')[2])
end

local function write_counts(q)
  for group, counts in pairs(q.counts) do
    for name, by in pairs(counts) do server.call('HINCRBY', keys.tally(q.tag, group), name, by) end
  end
  for group, held in pairs(q.consumers) do
    local key = keys.consumers(q.tag, group)
    for consumer, by in pairs(held) do
      if by ~= 0 and server.call('HINCRBY', key, consumer, by) == 0 then server.call('HDEL', key, consumer) end
    end
  end
  q.counts, q.consumers = {}, {}
end

--- Write what was collected for commands.
function queue.flush(q)
  for _, list in pairs(q.lists) do server.call(unpack(list)) end
  q.lists = {}
end

--- Write what the call has collected, and wake the readers concerned.
function queue.close(q)
  write_counts(q)
  queue.flush(q)
  if q.tick then
    server.call('HSET', keys.queue(q.tag), 'tick_at', q.tick_at)
    wake.ticker(q.tag)
  end
  if q.ready then wake.lane(q.tag, queue.TOPIC) end
  q.tick, q.ready = nil, nil
end
