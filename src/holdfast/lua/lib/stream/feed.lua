--- Live notifications. The event feed of a tenant's executions is kept only while it has listeners, and
--- a while longer, so that a listener that lost its connection misses nothing. Processes that follow an
--- execution are notified whenever it changes. Without listeners this costs one look-up.
--- @requires lib/core/keys lib/core/clock lib/core/journal lib/core/timers lib/core/wake
local feed = {}

--- A feed is kept for this long after the last call of a listener.
feed.LISTENING_MS = 300000

local MOST_ENTRIES = 10000

local function append(tag, id, rec, from, now)
  journal.append(
    keys.feed(tag, rec.tenant), MOST_ENTRIES, now,
    'id', id, 'kind', rec.kind, 'lane', rec.lane,
    'from', from or '', 'to', rec.state, 'attempts', rec.attempts or 0
  )
end

--- Notify the processes that follow an execution.
function feed.notify(tag, id, rec)
  if not rec.followed then return end
  for _, process in ipairs(server.call('SMEMBERS', keys.followers(tag, id))) do
    wake.process(tag, process, 'moved ' .. id)
  end
end

--- Executions of one tenant have changed; `many` is a list of { id, rec }, `from` their state before.
function feed.moved(tag, tenant, many, from)
  for _, one in ipairs(many) do feed.notify(tag, one[1], one[2]) end
  if server.call('HEXISTS', keys.feeds(tag), tenant) == 0 then return end
  local now = clock.now(tag)
  for _, one in ipairs(many) do append(tag, one[1], one[2], from, now) end
  wake.feed(tag, tenant)
end

--- The same for one, the most frequent case: without listeners, nothing is allocated.
function feed.moved_one(tag, id, rec, from)
  if rec.followed or server.call('HEXISTS', keys.feeds(tag), rec.tenant) == 1 then
    feed.moved(tag, rec.tenant, { { id, rec } }, from)
  end
end

--- The same for a cohort that nobody follows.
function feed.shifted(tag, cohort, from, to)
  local tenant, lane, kind = cohort.tenant, cohort.lane, cohort.kind
  if server.call('HEXISTS', keys.feeds(tag), tenant) == 0 then return end
  local many = {}
  for i, id in ipairs(cohort.ids) do
    local attempts = server.call('HGET', keys.record(tag, id), 'attempts')
    many[i] = { id, { tenant = tenant, lane = lane, kind = kind, state = to, attempts = attempts } }
  end
  feed.moved(tag, tenant, many, from)
end

--- The timer of a feed fired: the feed ends, unless a listener has called since.
function feed.expire(tag, tenant, now)
  local ends = tonumber(server.call('HGET', keys.feeds(tag), tenant) or 0)
  if ends > now then
    timers.set(tag, 'f:' .. tenant, ends, now)
  else
    server.call('ZREM', keys.timers(tag), 'f:' .. tenant)
    server.call('HDEL', keys.feeds(tag), tenant)
    server.call('UNLINK', keys.feed(tag, tenant))
  end
end
