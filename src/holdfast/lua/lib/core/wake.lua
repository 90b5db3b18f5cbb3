--- Wake-ups by publish: sharded on a cluster (the channel carries the partition's tag), plain on
--- a single server, where clients cannot subscribe to shards.
--- @requires lib/core/keys
local wake = {}

-- A server does not change its mode while it runs, so it is asked once per load of the library.
local verb

local function publish(channel, message)
  if not verb then
    local info = server.pcall('CLUSTER', 'INFO')
    verb = type(info) == 'table' and info.err and 'PUBLISH' or 'SPUBLISH'
  end
  server.call(verb, channel, message)
end

--- Work became ready on a lane; `kind` is its kind, for workers that do not have every task.
function wake.lane(tag, lane, kind) publish(keys.wake_channel(tag, lane), kind or '') end

--- A timer is due earlier than the next planned tick.
function wake.ticker(tag) publish(keys.tick_channel(tag), '') end

--- A schedule is due: a scheduler must work out its next time and fire it.
function wake.scheduler(tag) publish(keys.due_channel(tag), '') end

--- The outbox of a partition is no longer empty.
function wake.courier(tag) publish(keys.outbox_channel(tag), '') end

--- A session has replies to send.
function wake.senders(tag) publish(keys.replies_channel(tag), '') end

--- A deployment of an env has changed.
function wake.deployments(tag, env) publish(keys.wake_channel(tag, 'deployments'), env) end

--- Nothing in this partition needs a closed revision any more.
function wake.drained(tag, revision) publish(keys.drained_channel(tag), revision) end

--- A tenant's event feed has grown.
function wake.feed(tag, tenant) publish(keys.feed_channel(tag, tenant), '') end

--- Notify a process that waits for an execution or a graph.
function wake.process(tag, process, message) publish(keys.mailbox_channel(tag, process), message) end
