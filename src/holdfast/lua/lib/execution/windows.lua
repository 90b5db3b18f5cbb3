--- Windows: submissions with the same key of their submitter count as one. Throttle: the first of a
--- window wins, and later ones return it. Debounce: the last wins; an execution that waits for its
--- window to end takes over the input of each later one, and its window starts again.
--- All executions of a key live in one partition. The key holds `ID UNTIL NONCE...`, a nonce of an earlier
--- window as `NONCE=ID`.
--- @requires lib/core/keys lib/core/record lib/core/timers lib/core/settings
local windows = {}

-- This many late repetitions of calls are recognised as such.
local NONCES = 16

local function read(tag, item)
  local found = server.call('GET', keys.window(tag, item.tenant, item.window_key))
  if not found then return nil end
  local words = {}
  for word in found:gmatch('%S+') do words[#words + 1] = word end
  return { id = words[1], till = tonumber(words[2]), nonces = { unpack(words, 3) } }
end

local function write(tag, item, id, nonces, now)
  while #nonces >= NONCES do table.remove(nonces, 1) end
  nonces[#nonces + 1] = item.nonce
  local till = ('%d'):format(now + item.window_ms)
  local value = id .. ' ' .. till .. ' ' .. table.concat(nonces, ' ')
  -- Kept a little longer than it counts, so that a call repeated late finds its answer.
  server.call('SET', keys.window(tag, item.tenant, item.window_key), value, 'PX', item.window_ms + 60000)
end

--- Give the waiting execution the input of a later submission, and start its window again.
local function replace(tag, id, rec, item, input, now)
  local due = now + item.window_ms
  local changes = { 'due', due, 'rank', due * 1000 - (rec.priority or 0) * settings.priority_us(tag) }
  record.clear(tag, id, rec, { 'input' })
  server.call('UNLINK', keys.input(tag, id))
  record.put_payload(keys.input(tag, id), 'input', input, changes)
  record.write(tag, id, rec, changes)
  timers.arm(tag, id, rec, now)
end

--- The execution that a call with this nonce was answered with, or nil.
local function answered(found, nonce)
  for _, known in ipairs(found.nonces) do
    if known == nonce then return found.id end
    local id = known:match('^' .. nonce .. '=(.+)$')
    if id then return id end
  end
  return nil
end

--- The answer to a submission that creates nothing, or nil. `is_new` says that there is no execution with
--- its id.
function windows.answer(tag, item, input, is_new, now)
  local own = not is_new and record.get(tag, item.id, 'state')[1]
  if own then return { 'created', own } end
  local found = read(tag, item)
  if not found then return nil end
  local rec = record.read(tag, found.id)
  if not rec then return nil end
  local answer, id = { 'duplicate', found.id, rec.state }, answered(found, item.nonce)
  local state = id and record.get(tag, id, 'state')[1]
  if state then return { 'duplicate', id, state } end
  if id then return answer end
  if item.window == 'throttle' then return now < found.till and answer or nil end
  if rec.hold ~= 'debounce' then return nil end
  replace(tag, found.id, rec, item, input, now)
  write(tag, item, found.id, found.nonces, now)
  return answer
end

--- A new execution opens the window of its key. Calls of the window before may still come again.
function windows.open(tag, item, now)
  local found, nonces = read(tag, item), {}
  for i, nonce in ipairs(found and found.nonces or {}) do
    nonces[i] = nonce:find('=', 1, true) and nonce or nonce .. '=' .. found.id
  end
  write(tag, item, item.id, nonces, now)
end
