--- Empties a queue or a group in one call, regardless of its size: sets are unlinked, not traversed.
--- @requires lib/core/keys lib/queue/queue lib/queue/counts
local queue_clearing = {}

local OF_GROUP =
  { 'open', 'blocked', 'lines', 'busy', 'flight', 'late', 'retry', 'ttl', 'tries', 'consumers' }
local OF_MESSAGES = { 'messages', 'bodies', 'later', 'ends', 'handles', 'arrivals', 'holds', 'gone', 'sweeps' }

function queue_clearing.group(tag, group)
  for _, name in ipairs(OF_GROUP) do server.call('UNLINK', keys[name](tag, group)) end
end

--- Remove all messages; groups are left behind the last position.
function queue_clearing.messages(q)
  for _, group in ipairs(server.call('ZRANGE', keys.groups(q.tag), 0, -1)) do
    local now = queue_counts.waiting(q, group)
    queue.count(q, group, 'purged', now.ready + now.delayed + now.in_flight)
    if q.mode ~= 'work' then
      queue.count(q, group, 'expired', now.unseen)
      server.call('ZADD', keys.groups(q.tag), q.stamp, group)
    end
    queue_clearing.group(q.tag, group)
  end
  local purged = server.call('HLEN', keys.messages(q.tag))
  queue.count(q, '', 'purged', purged)
  for _, name in ipairs(OF_MESSAGES) do server.call('UNLINK', keys[name](q.tag)) end
  return purged
end
