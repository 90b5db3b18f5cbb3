--- Live notifications. The event feed of a tenant's executions is kept only while it has listeners, and
--- a while longer, so that a listener that lost its connection misses nothing. Processes that follow an
--- execution are notified whenever it changes. Without listeners this costs one look-up. What happens to
--- the other nouns of a tenant has a feed of its own, under the name `nouns|TENANT`.
--- @requires lib/core/keys lib/core/clock lib/core/journal lib/core/record lib/core/timers lib/core/wake
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
    local attempts = record.get(tag, id, 'attempts')[1] or nil
    many[i] = { id, { tenant = tenant, lane = lane, kind = kind, state = to, attempts = attempts } }
  end
  feed.moved(tag, tenant, many, from)
end

--- Whether the feed of a tenant's other nouns is kept.
function feed.has_nouns(tag, tenant)
  return server.call('HEXISTS', keys.feeds(tag), 'nouns|' .. tenant) == 1
end

--- A session, waitpoint, deployment, queue or worker has changed; more facts are name, value pairs.
function feed.noted(tag, tenant, noun, id, change, ...)
  if not feed.has_nouns(tag, tenant) then return end
  local name = 'nouns|' .. tenant
  journal.append(
    keys.feed(tag, name), MOST_ENTRIES, clock.now(tag), 'type', noun, 'id', id, 'change', change, ...
  )
  wake.feed(tag, name)
end

--- The same for what all tenants have in common.
function feed.noted_to_all(tag, noun, id, change)
  for _, name in ipairs(server.call('HKEYS', keys.feeds(tag))) do
    local tenant = name:match('^nouns|(.+)$')
    if tenant then feed.noted(tag, tenant, noun, id, change) end
  end
end

--- The timer of a feed fired: the feed ends, unless a listener has called since.
function feed.expire(tag, tenant, now)
  local ends = tonumber(server.call('HGET', keys.feeds(tag), tenant) or 0)
  if ends > now then
    timers.set(tag, 'f:' .. tenant, ends, now)
  else
    server.call('ZREM', keys.timers(tag), 'f:' .. tenant)
    server.call('HDEL', keys.feeds(tag), tenant)
    server.call('UNLINK', keys.feed(tag, tenant), keys.feed_marks(tag, tenant:match('^nouns|(.+)$') or tenant))
  end
end
