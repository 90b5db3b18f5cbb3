--- Windows: submissions with the same key of their submitter count as one. Throttle: the first of a
--- window wins, and later ones return it. Debounce: the last wins; an execution that waits for its
--- window to end takes over the input of each later one, and its window starts again.
--- All executions of a key live in one partition. The key holds `ID UNTIL NONCE...`.
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

local function has(nonces, nonce)
  for _, known in ipairs(nonces) do
    if known == nonce then return true end
  end
  return false
end

--- The answer to a submission that creates nothing, or nil.
function windows.answer(tag, item, input, now)
  local found = read(tag, item)
  if not found then return nil end
  local rec = record.read(tag, found.id)
  if not rec then return nil end
  local word = found.id == item.id and 'created' or 'duplicate'
  local answer = word == 'created' and { word, rec.state } or { word, found.id, rec.state }
  if has(found.nonces, item.nonce) then return answer end
  if item.window == 'throttle' then return now < found.till and answer or nil end
  if rec.hold ~= 'debounce' then return nil end
  replace(tag, found.id, rec, item, input, now)
  write(tag, item, found.id, found.nonces, now)
  return answer
end

--- A new execution opens the window of its key.
function windows.open(tag, item, now) write(tag, item, item.id, {}, now) end
