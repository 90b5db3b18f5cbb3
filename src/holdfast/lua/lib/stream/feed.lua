--- Live news. An event feed of a tenant's executions is kept only while somebody listens to it, and
--- a while longer, so that a listener that lost its connection misses nothing. Processes that
--- follow one execution are told whenever it moves. Where nobody listens this costs one look.
--- @requires lib/core/keys lib/core/clock lib/core/journal lib/core/timers lib/core/wake
local feed = {}

--- A feed goes on for so long after its last listener said that it is there.
feed.LISTENING_MS = 300000

local MOST_ENTRIES = 10000

local function append(tag, id, rec, from, now)
  journal.append(
    keys.feed(tag, rec.tenant), MOST_ENTRIES, now,
    'id', id, 'kind', rec.kind, 'lane', rec.lane,
    'from', from or '', 'to', rec.state, 'attempts', rec.attempts or 0
  )
end

--- Tell the processes that follow an execution.
local function tell(tag, id)
  for _, process in ipairs(server.call('SMEMBERS', keys.followers(tag, id))) do
    wake.process(tag, process, 'moved ' .. id)
  end
end

--- Executions of one tenant have moved; `many` is a list of { id, rec }, `from` their state before.
function feed.moved(tag, tenant, many, from)
  for _, one in ipairs(many) do
    if one[2].followed then tell(tag, one[1]) end
  end
  if server.call('HEXISTS', keys.feeds(tag), tenant) == 0 then return end
  local now = clock.now(tag)
  for _, one in ipairs(many) do append(tag, one[1], one[2], from, now) end
  wake.feed(tag, tenant)
end

--- The same for one, which is the most frequent: where nobody listens, nothing is made for it.
function feed.moved_one(tag, id, rec, from)
  if rec.followed or server.call('HEXISTS', keys.feeds(tag), rec.tenant) == 1 then
    feed.moved(tag, rec.tenant, { { id, rec } }, from)
  end
end

--- The timer of a feed fired: it ends, unless somebody has listened since.
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
