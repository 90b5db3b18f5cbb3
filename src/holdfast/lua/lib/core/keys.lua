--- Every key of a partition, by name. `tag` is the partition's one declared key, such as
--- `hf:{p:0}`; all keys start with it, so they share its cluster slot. docs/keys.md mirrors this.
local keys = {}

-- Keys of one execution; retention removes all of them.
function keys.record(tag, id) return tag .. ':x:' .. id end
function keys.input(tag, id) return tag .. ':i:' .. id end
function keys.result(tag, id) return tag .. ':r:' .. id end
function keys.tags(tag, id) return tag .. ':t:' .. id end
function keys.note(tag, id) return tag .. ':n:' .. id end
function keys.log(tag, id) return tag .. ':l:' .. id end
function keys.steps(tag, id) return tag .. ':s:' .. id end
function keys.watchers(tag, id) return tag .. ':w:' .. id end
function keys.waitpoints(tag, id) return tag .. ':p:' .. id end
function keys.wait(tag, id) return tag .. ':y:' .. id end
function keys.signals(tag, id) return tag .. ':z:' .. id end
function keys.signal_keys(tag, id) return tag .. ':k:' .. id end
function keys.followers(tag, id) return tag .. ':f:' .. id end
function keys.children(tag, id) return tag .. ':o:' .. id end
function keys.bonds(tag, id) return tag .. ':bonds:' .. id end
function keys.unread(tag, id) return tag .. ':unread:' .. id end
function keys.mail(tag, id) return tag .. ':mail:' .. id end
function keys.mail_keys(tag, id) return tag .. ':mailkeys:' .. id end
function keys.view(tag, id) return tag .. ':view:' .. id end

-- Further keys of an execution that streams, or whose stream is read live.
function keys.stream(tag, id) return tag .. ':stream:' .. id end
function keys.frames(tag, id) return tag .. ':frames:' .. id end
function keys.live(tag, id) return tag .. ':live:' .. id end
function keys.document(tag, id) return tag .. ':doc:' .. id end
function keys.tails(tag, id) return tag .. ':tails:' .. id end

-- Where executions are listed and counted.
function keys.tenants(tag) return tag .. ':tenants' end
function keys.cells(tag, tenant) return tag .. ':cells:' .. tenant end
function keys.cell(tag, tenant, cell) return tag .. ':c:' .. tenant .. '|' .. cell end
function keys.tagged(tag, tenant, name, value) return tag .. ':g:' .. tenant .. '|' .. name .. '=' .. value end
-- Executions that failed, by kind and cause.
function keys.causes(tag, tenant) return tag .. ':causes:' .. tenant end
function keys.cause(tag, tenant, name) return tag .. ':cause:' .. tenant .. '|' .. name end
function keys.cause_ends(tag, tenant, name) return tag .. ':causends:' .. tenant .. '|' .. name end

-- Waitpoints that can be answered, by creation time; an empty tenant means all tenants.
function keys.open_waitpoints(tag, tenant) return tag .. ':open:' .. tenant end
-- Keys of one graph; its members are executions with their own keys.
function keys.graph(tag, id) return tag .. ':graph:' .. id end
function keys.graph_members(tag, id) return tag .. ':gm:' .. id end
function keys.graph_edges(tag, id) return tag .. ':ge:' .. id end
function keys.graph_work(tag, id) return tag .. ':gw:' .. id end
function keys.graph_walks(tag, id) return tag .. ':gk:' .. id end
function keys.graph_log(tag, id) return tag .. ':gl:' .. id end
function keys.graph_watchers(tag, id) return tag .. ':gs:' .. id end
function keys.graph_again(tag, id) return tag .. ':ga:' .. id end
function keys.graph_reopened(tag, id) return tag .. ':gr:' .. id end
function keys.graphs(tag, tenant, state) return tag .. ':gc:' .. tenant .. '|' .. state end
function keys.graph_tenants(tag) return tag .. ':gtenants' end

-- What one session owns; its executions are called SESSION~NUMBER and own the rest.
function keys.session(tag, id) return tag .. ':S:' .. id end
function keys.transcript(tag, id) return tag .. ':T:' .. id end
function keys.activities(tag, id) return tag .. ':A:' .. id end
function keys.buffered(tag, id) return tag .. ':B:' .. id end
function keys.session_state(tag, id) return tag .. ':V:' .. id end
function keys.dead_replies(tag, id) return tag .. ':D:' .. id end
function keys.tenant_dead_replies(tag, tenant) return tag .. ':dead:' .. tenant end
function keys.listeners(tag, id) return tag .. ':L:' .. id end
function keys.session_numbers(tag, id) return tag .. ':N:' .. id end
function keys.erased_session(tag, id) return tag .. ':E:' .. id end
function keys.sessions(tag, tenant) return tag .. ':sessions:' .. tenant end
function keys.session_users(tag, tenant) return tag .. ':users:' .. tenant end
function keys.user_sessions(tag, tenant, user) return tag .. ':usessions:' .. tenant .. '|' .. user end
function keys.session_tenants(tag) return tag .. ':stenants' end
-- Which session welcomes a user at an endpoint, or that it is done.
function keys.welcome(tag, id) return tag .. ':W:' .. id end
-- Sessions with replies to send, by the time at which a sender may take them.
function keys.outgoing(tag, sender) return tag .. ':outgoing:' .. sender end

-- Pins of sessions to revisions. SCOPE is ENV:DEPLOYMENT:TENANT, each percent-encoded.
function keys.pins(tag, scope) return tag .. ':pins:' .. scope end
function keys.pin_ends(tag, scope) return tag .. ':pin_ends:' .. scope end
-- Executions that need a revision, and whether it starts more of them here.
function keys.revision_waits(tag, tenant, id) return tag .. ':revwaits:' .. tenant .. '|' .. id end
function keys.revision_runs(tag, tenant, id) return tag .. ':revruns:' .. tenant .. '|' .. id end
function keys.revision_left(tag, tenant, id) return tag .. ':revleft:' .. tenant .. '|' .. id end
function keys.revision_closed(tag, tenant, id) return tag .. ':revclosed:' .. tenant .. '|' .. id end
function keys.revision_opened(tag, tenant, id) return tag .. ':revopened:' .. tenant .. '|' .. id end
-- The turns that ended on a revision in an interval.
function keys.revision_figures(tag, tenant, id, interval)
  return tag .. ':revfigures:' .. tenant .. '|' .. id .. '|' .. interval
end

-- Where ready work waits: lane > route > tenant > execution.
function keys.routes(tag, lane) return tag .. ':routes:' .. lane end
function keys.pass(tag, lane) return tag .. ':pass:' .. lane end
function keys.turns(tag, route) return tag .. ':turns:' .. route end
function keys.ready(tag, route, tenant) return tag .. ':q:' .. route .. '|' .. tenant end

-- Schedules, and the executions that they have fired.
function keys.schedule(tag, id) return tag .. ':schedule:' .. id end
function keys.plan(tag, id) return tag .. ':plan:' .. id end
function keys.schedules(tag) return tag .. ':schedules' end
function keys.dues(tag) return tag .. ':dues' end
function keys.fired(tag, id) return tag .. ':fired:' .. id end
function keys.lined_up(tag, id) return tag .. ':lined:' .. id end

-- The sealed secrets of a tenant in an env.
function keys.secrets(tag, scope) return tag .. ':secrets:' .. scope end

-- The state that a pack keeps for a tenant in an env.
function keys.state(tag, scope) return tag .. ':state:' .. scope end
function keys.state_due(tag, scope) return tag .. ':state_due:' .. scope end
function keys.state_meta(tag, scope) return tag .. ':state_meta:' .. scope end

-- Threads of checkpoints that another library makes. ID is TENANT|NAME.
function keys.threads(tag, tenant) return tag .. ':threads:' .. tenant end
function keys.thread(tag, id) return tag .. ':thread:' .. id end
function keys.thread_marks(tag, id) return tag .. ':thread_marks:' .. id end
function keys.checkpoints(tag, id) return tag .. ':checkpoints:' .. id end
function keys.thread_values(tag, id) return tag .. ':thread_values:' .. id end
function keys.thread_written(tag, id) return tag .. ':thread_written:' .. id end
function keys.thread_writes(tag, id) return tag .. ':thread_writes:' .. id end
function keys.thread_runs(tag, id) return tag .. ':thread_runs:' .. id end
function keys.run_threads(tag, tenant, run) return tag .. ':run_threads:' .. tenant .. '|' .. run end

-- What agents of a tenant remember.
function keys.memories(tag, tenant) return tag .. ':memories:' .. tenant end
function keys.memory_index(tag, tenant) return tag .. ':memory_index:' .. tenant end
function keys.memory_spaces(tag, tenant) return tag .. ':memory_spaces:' .. tenant end
function keys.memory_due(tag, tenant) return tag .. ':memory_due:' .. tenant end

-- Each exists once in a partition.
function keys.timers(tag) return tag .. ':timers' end
function keys.unarchived(tag) return tag .. ':unarchived' end
function keys.settings(tag) return tag .. ':settings' end
function keys.meta(tag) return tag .. ':meta' end
function keys.feeds(tag) return tag .. ':feeds' end
function keys.feed(tag, tenant) return tag .. ':feed:' .. tenant end
function keys.feed_marks(tag, tenant) return tag .. ':feed_marks:' .. tenant end

-- Short-lived memory of calls, kept by TTL.
function keys.ack(tag) return tag .. ':ack' end
function keys.claim(tag, request) return tag .. ':claim:' .. request end
function keys.batch(tag, id, key) return tag .. ':batch:' .. id .. '|' .. key end
function keys.alias(tag, tenant, key) return tag .. ':alias:' .. tenant .. '|' .. key end

-- Limits: those that must admit an execution, and the outbox of this partition.
function keys.limits(tag, id) return tag .. ':m:' .. id end
function keys.window(tag, tenant, key) return tag .. ':window:' .. tenant .. '|' .. key end
function keys.outbox(tag) return tag .. ':outbox' end

-- In partitions of quotas and budgets: the executions that wait for one, in order, with their grants.
function keys.waiters(tag, limit) return tag .. ':wait:' .. limit end
function keys.waiting(tag, limit) return tag .. ':waits:' .. limit end

-- In partitions of quotas. NAME is ID, or ID#VALUE for one value of a tag.
function keys.quotas(tag) return tag .. ':quotas' end
function keys.quota(tag, id) return tag .. ':quota:' .. id end
function keys.quota_queues(tag, id) return tag .. ':queues:' .. id end
function keys.holders(tag, name) return tag .. ':held:' .. name end
function keys.admissions(tag, name) return tag .. ':admissions:' .. name end
function keys.promises(tag, name) return tag .. ':promises:' .. name end
function keys.void(tag, execution, epoch) return tag .. ':void:' .. execution .. '|' .. epoch end
function keys.admit(tag, request) return tag .. ':admit:' .. request end

-- In partitions of budgets.
function keys.budgets(tag) return tag .. ':budgets' end
function keys.budget(tag, id) return tag .. ':budget:' .. id end
function keys.address(tag, id) return tag .. ':address:' .. id end
function keys.reservation(tag, id, key) return tag .. ':reservation:' .. id .. '|' .. key end
function keys.applied(tag, id, key) return tag .. ':applied:' .. id .. '|' .. key end
function keys.breaches(tag, id) return tag .. ':breaches:' .. id end
function keys.spent(tag, execution) return tag .. ':spent:' .. execution end
function keys.total(tag, tenant) return tag .. ':total:' .. tenant end

-- In the global partition only.
function keys.worker(tag, instance) return tag .. ':worker:' .. instance end
function keys.workers(tag) return tag .. ':workers' end
function keys.tasks(tag) return tag .. ':tasks' end
function keys.services(tag) return tag .. ':services' end
function keys.service_expiries(tag) return tag .. ':service_expiries' end
function keys.keyring(tag) return tag .. ':keyring' end
function keys.sealing_keys(tag) return tag .. ':sealing' end

-- What happened in the last hour or week. SERIES is NOUN|TENANT|NAME.
function keys.history(tag, span, series) return tag .. ':history:' .. span .. '|' .. series end
function keys.history_counts(tag) return tag .. ':history_counts' end

function keys.object(tag, name) return tag .. ':o:' .. name end
function keys.objects(tag) return tag .. ':objects' end
function keys.access(tag, id) return tag .. ':access:' .. id end
function keys.accesses(tag) return tag .. ':accesses' end
function keys.audit(tag, log) return tag .. ':audit:' .. log end
function keys.queues(tag) return tag .. ':queues' end

-- Deployments, in the global partition. NAME is ENV|TENANT|ID.
function keys.envs(tag) return tag .. ':envs' end
function keys.env(tag, env) return tag .. ':env:' .. env end
function keys.deployments(tag, env) return tag .. ':deployments:' .. env end
function keys.deployment_tenants(tag, env, id) return tag .. ':dtenants:' .. env .. '|' .. id end
function keys.deployment_changes(tag, env) return tag .. ':dchanges:' .. env end
function keys.deployment(tag, name) return tag .. ':deployment:' .. name end
function keys.deployment_log(tag, name) return tag .. ':dlog:' .. name end
function keys.split(tag, name) return tag .. ':split:' .. name end
function keys.revisions(tag, name) return tag .. ':revisions:' .. name end
function keys.revision(tag, id) return tag .. ':revision:' .. id end
function keys.draining_revisions(tag) return tag .. ':draining' end
function keys.rollout(tag, id) return tag .. ':rollout:' .. id end
function keys.rollouts(tag, name) return tag .. ':rollouts:' .. name end
function keys.active_rollouts(tag) return tag .. ':rolling' end
function keys.packs(tag) return tag .. ':packs' end
function keys.pack(tag, digest) return tag .. ':pack:' .. digest end
function keys.archive_uses(tag, archive) return tag .. ':archive_uses:' .. archive end
function keys.unused_archives(tag) return tag .. ':unused_archives' end
function keys.endpoints(tag, env) return tag .. ':endpoints:' .. env end
function keys.endpoint(tag, env, id) return tag .. ':endpoint:' .. env .. '|' .. id end
-- Under the tag of the archive of a pack.
function keys.blob(tag) return tag .. ':blob' end

-- Keys of a message queue, under its own tag: the queue, its messages, and its memory of calls.
function keys.queue(tag) return tag .. ':queue' end
function keys.groups(tag) return tag .. ':groups' end
function keys.tally(tag, group) return tag .. ':tally:' .. group end
function keys.messages(tag) return tag .. ':messages' end
function keys.bodies(tag) return tag .. ':bodies' end
function keys.later(tag) return tag .. ':later' end
function keys.ends(tag) return tag .. ':ends' end
function keys.handles(tag) return tag .. ':handles' end
function keys.settled(tag) return tag .. ':settled' end
function keys.seen(tag) return tag .. ':seen' end
function keys.seen_until(tag) return tag .. ':seen_until' end
function keys.dropped(tag) return tag .. ':dropped' end
function keys.queue_outbox(tag, target) return tag .. ':outbox:' .. target end
function keys.sent(tag) return tag .. ':sent' end
function keys.inbox(tag) return tag .. ':inbox' end

-- Keys of a FANOUT queue.
function keys.arrivals(tag) return tag .. ':arrivals' end
function keys.holds(tag) return tag .. ':holds' end
function keys.gone(tag) return tag .. ':gone' end
function keys.sweeps(tag) return tag .. ':sweeps' end

-- Keys of one group of a queue.
function keys.open(tag, group) return tag .. ':open:' .. group end
function keys.blocked(tag, group) return tag .. ':blocked:' .. group end
function keys.lines(tag, group) return tag .. ':lines:' .. group end
function keys.busy(tag, group) return tag .. ':busy:' .. group end
function keys.flight(tag, group) return tag .. ':flight:' .. group end
function keys.late(tag, group) return tag .. ':late:' .. group end
function keys.retry(tag, group) return tag .. ':retry:' .. group end
function keys.ttl(tag, group) return tag .. ':ttl:' .. group end
function keys.tries(tag, group) return tag .. ':tries:' .. group end
function keys.consumers(tag, group) return tag .. ':consumers:' .. group end

-- Channels, not keys.
function keys.wake_channel(tag, lane) return tag .. ':wake:' .. lane end
function keys.tick_channel(tag) return tag .. ':tick' end
function keys.due_channel(tag) return tag .. ':due' end
function keys.feed_channel(tag, tenant) return tag .. ':news:' .. tenant end
function keys.mailbox_channel(tag, process) return tag .. ':box:' .. process end
function keys.replies_channel(tag) return tag .. ':replies' end
function keys.outbox_channel(tag) return tag .. ':out' end
function keys.drained_channel(tag) return tag .. ':drained' end
