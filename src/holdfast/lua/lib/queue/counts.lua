--- The counts of a group: pushed = ready + delayed + in_flight + acked + dead + dropped + expired +
--- purged. What is there is the size of a set; what has been is counted as it happens.
--- @requires lib/core/keys
local queue_counts = {}

local NAMES = {
  'pushed', 'addressed', 'extra', 'base', 'acked', 'dead', 'dropped', 'expired', 'purged', 'collected',
}

local function tally(q, group)
  local found, values = {}, server.call('HMGET', keys.tally(q.tag, group), unpack(NAMES))
  for i, name in ipairs(NAMES) do found[name] = tonumber(values[i] or 0) end
  return found
end

--- How many arrivals, and how many that expired unseen, a group has yet to come to.
local function ahead(q, group)
  if q.mode == 'work' then return 0, 0 end
  local after = '(' .. server.call('ZSCORE', keys.groups(q.tag), group)
  return server.call('ZCOUNT', keys.arrivals(q.tag), after, '+inf'),
    server.call('ZCOUNT', keys.gone(q.tag), after, '+inf')
end

function queue_counts.waiting(q, group)
  local unread, unseen = ahead(q, group)
  local open = server.call('ZCARD', keys.open(q.tag, group))
  local blocked = server.call('ZCARD', keys.blocked(q.tag, group))
  local later = server.call('ZCARD', keys.later(q.tag))
  local retry = server.call('ZCARD', keys.retry(q.tag, group))
  local flight = server.call('ZCARD', keys.flight(q.tag, group))
  return { ready = unread + open + blocked, delayed = later + retry, in_flight = flight, unseen = unseen }
end

--- Name, value pairs.
function queue_counts.of_group(q, group)
  local whole, own, now = tally(q, ''), tally(q, group), queue_counts.waiting(q, group)
  return {
    'pushed', whole.pushed - whole.addressed - own.base + own.extra,
    'ready', now.ready,
    'delayed', now.delayed,
    'in_flight', now.in_flight,
    'acked', own.acked,
    'dead', own.dead,
    'dropped', own.dropped,
    'expired', own.expired + now.unseen,
    'purged', own.purged,
  }
end

--- Name, value pairs of a FANOUT queue: pushed = stored + collected + expired + purged.
function queue_counts.of_queue(q)
  local whole = tally(q, '')
  return {
    'pushed', whole.pushed,
    'stored', server.call('HLEN', keys.messages(q.tag)),
    'collected', whole.collected,
    'expired', whole.expired,
    'purged', whole.purged,
  }
end

--- Take what a group has before it off its counts, for one that begins now.
function queue_counts.begin(q, group)
  local whole, now = tally(q, ''), queue_counts.waiting(q, group)
  local base = whole.pushed - whole.addressed - now.ready - now.delayed
  server.call('HSET', keys.tally(q.tag, group), 'base', base, 'expired', -now.unseen)
end
