--- Whether and when a failed attempt is tried again.
--- The policy is `ATTEMPTS,KIND,INITIAL_MS,MAX_MS,FACTOR,JITTER`; no policy means one attempt.
--- @requires lib/execution/requeue lib/execution/finish lib/core/log lib/core/tally
local retry = {}

local function backoff(kind, initial, most, factor, failures)
  if kind == 'fixed' or initial == 0 then return initial end
  return math.min(most, initial * factor ^ (failures - 1))
end

--- Spread in -1..1 that differs per execution and lease. Valkey seeds math.random alike in every
--- call, so executions that fail together would retry together.
local function spread(id, epoch)
  return tonumber(server.sha1hex(id .. ':' .. epoch):sub(1, 8), 16) / 0xffffffff * 2 - 1
end

--- Milliseconds until the next attempt after `failures` of them, or nil when there is none.
function retry.delay(id, rec, failures)
  if not rec.retry then return nil end
  local attempts, kind, initial, most, factor, jitter =
    rec.retry:match('^(%d+),(%a+),(%d+),(%d+),([%d.]+),([%d.]+)$')
  if failures >= tonumber(attempts) then return nil end
  local base = backoff(kind, tonumber(initial), tonumber(most), tonumber(factor), failures)
  return math.floor(base * (1 + tonumber(jitter) * spread(id, rec.epoch)) + 0.5)
end

--- End the running attempt as failed: retry it, or fail the execution. `entry` is the log entry;
--- it gets the answer (`state`, `retry_at`). `final` forbids a retry, `after` replaces the backoff.
function retry.settle(tag, id, rec, now, entry, final, after)
  local failures = tonumber(rec.failures or 0) + 1
  local wait = not final and retry.delay(id, rec, failures)
  if wait and after then wait = after end
  entry.at = now
  entry.state = wait and (wait > 0 and 'delayed' or 'waiting') or 'failed'
  entry.retry_at = wait and now + wait or nil
  if not wait then
    finish.now(tag, id, rec, 'failed', now, { 'failures', failures }, entry)
    return entry
  end
  entry.cause = nil
  tally.add(tag, 'retried')
  log.append(tag, id, rec, entry)
  requeue.later(tag, id, rec, now, now + wait, 'backoff', { 'failures', failures, 'turn', 'retry' })
  return entry
end
