--- Briefs. Most executions are created, claimed once and completed, and nothing else happens to them. Until
--- something else does, the record of such an execution is one string, a brief, instead of a hash: one command
--- reads, and one writes, those of a whole call. lib/core/record reads both, and unfolds a brief before any other
--- change.
---
---     HEAD \n PLACE \n BORN SIZE EXTRAS \n extras input steps result
---
--- The place is TENANT|LANE|KIND, and of an execution with limits TENANT|LANE|KIND|LIMIT,LIMIT.
--- The head of a waiting execution is `w`; of an active one `a`, of a completed one `c` or, if its result has a
--- key of its own, `r`, and then FENCE DUE CLAIMED STEPS ENDED WORKER, with `-` for what is missing. STEPS is
--- their number, after `+` if they are here, each as `\n NAME \n SIZE AT RESULT`; else they have their hash. SIZE
--- is that of the input, `-` if it has a key of its own. EXTRAS is the size of further fields in msgpack.
local brief = {}

-- Longer payloads have keys of their own: a brief is written three times.
brief.MOST_BYTES = 256
-- So have the steps of a brief that would be longer: it is written with each of them.
brief.MOST_WITH_STEPS = 640
-- Values longer than this would turn a hash into its large encoding (hash-max-listpack-value).
brief.LISTED_BYTES = 64

local STATES = { w = 'waiting', a = 'active', c = 'completed', r = 'completed' }

-- Texts of small numbers, as they are and with three digits: making one takes longer than anything else here.
local numerals, digits = {}, {}
for i = 0, 999 do
  numerals[i], digits[i] = ('%d'):format(i), ('%03d'):format(i)
end

--- The text of a stamp. `memory` is a table that remembers the digits which consecutive stamps share.
function brief.stamp(stamp, memory)
  local low = stamp % 1000
  local high = stamp - low
  if memory.high ~= high then memory.high, memory.text = high, ('%d'):format(high / 1000) end
  return memory.text .. digits[low]
end

--- The place of an execution: its tenant, lane and kind, and its limits, one per line, if it has any. None of
--- them contains a bar.
function brief.place(tenant, lane, kind, limits)
  local place = tenant .. '|' .. lane .. '|' .. kind
  return limits and place .. '|' .. limits:gsub('\n', ',') or place
end

--- Tenant, lane, kind and limits of a place; without limits, the last is empty.
function brief.parts(place)
  local tenant, lane, kind, limits = place:match('^([^|]*)|([^|]*)|([^|]*)|?(.*)$')
  return tenant, lane, kind, (limits:gsub(',', '\n'))
end

--- Whether a place can contain these limits, and a line that is handed out.
function brief.can_list(limits) return not limits:find('[,| \t\v\f\r]') end

--- The place of a waiting brief, or nil.
function brief.waits_at(text) return text:match('^w\n([^\n]*)\n') end

--- The brief of a new execution; without `input`, that has a key of its own. `extras` is packed or empty.
function brief.new(place, born, extras, input)
  local size, extras_size = input and numerals[#input] or '-', numerals[#extras] or #extras
  return 'w\n' .. place .. '\n' .. born .. ' ' .. size .. ' ' .. extras_size .. '\n' .. extras .. (input or '')
end

--- The head of a brief in the state with this letter; times are texts, and `-` stands for none.
function brief.head(letter, fence, due, claimed, steps, ended, worker)
  return letter .. table.concat({ fence, due, claimed, steps, ended, worker }, ' ')
end

--- State letter, fence, due, claimed, steps, ended and worker of a head.
function brief.parse_head(head) return head:match('^(.)(%S+) (%S+) (%S+) (%S+) (%S+) (.*)$') end

--- A brief with another head, which counts one step more, and that step at its end. The brief has a head of
--- `head_size` bytes and no result. Nil if the step belongs into the hash.
function brief.with_step(text, head_size, head, name, at, result)
  if #text + #name + #result > brief.MOST_WITH_STEPS or name:find('\n', 1, true) then return nil end
  local size = numerals[#result]
  return head .. text:sub(head_size + 1) .. '\n' .. name .. '\n' .. size .. ' ' .. at .. ' ' .. result
end

--- The steps that begin at `at`, as names and values of their hash, and where they end.
local function steps_at(text, at, count)
  local steps = {}
  for number = 1, count do
    local name, size, moment, start = text:match('^\n([^\n]*)\n(%d+) (%d+) ()', at)
    at = start + size
    steps[2 * number - 1] = name
    steps[2 * number] = numerals[number] .. ' ' .. moment .. ' ' .. text:sub(start, at - 1)
  end
  return steps, at
end

--- The steps in the brief of an active execution, as names and values of their hash, and the brief without them.
function brief.split(text, count)
  local size, extras, at = text:match('^[^\n]*\n[^\n]*\n%d+ (%S+) (%d+)\n()')
  at = at + extras + (size == '-' and 0 or size)
  local steps = steps_at(text, at, count)
  return steps, text:sub(1, at - 1)
end

--- What a claim hands out of a waiting brief that begins with `start`: birth, input if it is here, and packed
--- extras if there are any. Nil if the brief is another.
function brief.handed(text, start)
  if text:find(start, 1, true) ~= 1 then return nil end
  local born, size, extras, at = text:match('^(%d+) (%S+) (%d+)\n()', #start + 1)
  local packed
  if extras ~= '0' then
    packed, at = text:sub(at, at + extras - 1), at + extras
  end
  return born, size ~= '-' and text:sub(at) or nil, packed
end

--- Put the fields of the head of an execution that was claimed. Returns the number of steps that are in the brief.
local function put_head(head, put)
  local _, fence, due, claimed, steps, ended, worker = brief.parse_head(head)
  local inside = steps:match('^%+(%d+)$')
  put('attempts', '1')
  put('epoch', '1')
  put('started', claimed)
  put('fence', fence)
  put('due', due)
  put('claimed', claimed)
  put('worker', worker)
  if steps ~= '-' then put('steps', inside or steps) end
  if ended ~= '-' then put('ended', ended) end
  return inside
end

--- Fields as a list of names and values, and by name what the hash would not have: larger payloads, and steps.
local function flat_of(text)
  local head, place, born, size, extras, at = text:match('^([^\n]*)\n([^\n]*)\n(%d+) (%S+) (%d+)\n()')
  local tenant, lane, kind, limits = brief.parts(place)
  local letter, plain, payloads = head:sub(1, 1), limits == '' and '1' or '2', {}
  local flat = {
    'state', STATES[letter], 'plain', plain, 'born', born, 'tenant', tenant, 'lane', lane, 'kind', kind,
  }
  local function put(name, value)
    flat[#flat + 1] = name
    flat[#flat + 1] = value
  end
  local function pay(name, bytes)
    if #bytes <= brief.LISTED_BYTES then put(name, bytes) else payloads[name] = bytes end
  end
  if limits ~= '' then
    put('limited', '1')
    pay('limits', limits)
  end
  local inside = letter ~= 'w' and put_head(head, put)
  if extras ~= '0' then
    local fields = cmsgpack.unpack(text:sub(at, at + extras - 1))
    for name, value in pairs(fields) do put(name, tostring(value)) end
    at = at + extras
  end
  if size ~= '-' then
    pay('input', text:sub(at, at + size - 1))
    at = at + size
  end
  if inside then
    payloads.steps, at = steps_at(text, at, inside)
  end
  if letter == 'c' then pay('result', text:sub(at)) end
  return flat, payloads
end

--- The record that a brief stands for, as a table and as a flat list. `folded` says how to unfold it.
function brief.read(text)
  local flat, payloads = flat_of(text)
  local rec = {}
  for i = 1, #flat, 2 do rec[flat[i]] = flat[i + 1] end
  return setmetatable(rec, { flat = flat, payloads = payloads, text = text }), flat
end

--- The brief behind a record that was read from one and has not been unfolded since: its text, its fields as a
--- flat list, and by name what its hash would not have. Nil for others.
function brief.folded(rec) return getmetatable(rec) end
