--- Every key of a partition, by name. `tag` is the partition's one declared key, such as
--- `hf:{p:0}`; all keys start with it, so they share its cluster slot. docs/keys.md mirrors this.
local keys = {}

-- What one execution owns; retention removes all of it.
function keys.record(tag, id) return tag .. ':x:' .. id end
function keys.input(tag, id) return tag .. ':i:' .. id end
function keys.result(tag, id) return tag .. ':r:' .. id end
function keys.tags(tag, id) return tag .. ':t:' .. id end
function keys.note(tag, id) return tag .. ':n:' .. id end
function keys.log(tag, id) return tag .. ':l:' .. id end
function keys.steps(tag, id) return tag .. ':s:' .. id end
function keys.watchers(tag, id) return tag .. ':w:' .. id end
function keys.followers(tag, id) return tag .. ':f:' .. id end

-- Where executions are listed and counted.
function keys.tenants(tag) return tag .. ':tenants' end
function keys.cells(tag, tenant) return tag .. ':cells:' .. tenant end
function keys.cell(tag, tenant, cell) return tag .. ':c:' .. tenant .. '|' .. cell end
function keys.tagged(tag, tenant, name, value)
  return tag .. ':g:' .. tenant .. '|' .. name .. '=' .. value
end

-- Where ready work waits: lane > route > tenant > execution.
function keys.routes(tag, lane) return tag .. ':routes:' .. lane end
function keys.pass(tag, lane) return tag .. ':pass:' .. lane end
function keys.turns(tag, route) return tag .. ':turns:' .. route end
function keys.ready(tag, route, tenant) return tag .. ':q:' .. route .. '|' .. tenant end

-- One of each in a partition.
function keys.timers(tag) return tag .. ':timers' end
function keys.settings(tag) return tag .. ':settings' end
function keys.meta(tag) return tag .. ':meta' end
function keys.feeds(tag) return tag .. ':feeds' end
function keys.feed(tag, tenant) return tag .. ':feed:' .. tenant end

-- Short-lived memory of calls, kept by TTL.
function keys.claim(tag, request) return tag .. ':claim:' .. request end
function keys.alias(tag, tenant, key) return tag .. ':alias:' .. tenant .. '|' .. key end

-- In the global partition only.
function keys.worker(tag, instance) return tag .. ':worker:' .. instance end
function keys.workers(tag) return tag .. ':workers' end
function keys.tasks(tag) return tag .. ':tasks' end
function keys.access(tag, id) return tag .. ':access:' .. id end
function keys.accesses(tag) return tag .. ':accesses' end
function keys.audit(tag, log) return tag .. ':audit:' .. log end

-- Channels, not keys.
function keys.wake_channel(tag, lane) return tag .. ':wake:' .. lane end
function keys.tick_channel(tag) return tag .. ':tick' end
function keys.feed_channel(tag, tenant) return tag .. ':news:' .. tenant end
function keys.mailbox_channel(tag, process) return tag .. ':box:' .. process end
