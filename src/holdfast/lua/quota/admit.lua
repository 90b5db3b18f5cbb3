--- Admit executions to quotas: each to all of its quotas here, or to none; then it waits for the
--- first that refused.
--- @key tag the partition of quotas
--- @arg request id of this call; repeated, it gets the same answer
--- @arg items per item: execution, epoch, its quotas here, one per line
--- @ok per item: empty, or the quota that refused and when to expect room, or empty
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock lib/limit/quota

local MEMORY_MS = 30000

local function names_of(list)
  local names = {}
  for name in list:gmatch('[^\n]+') do names[#names + 1] = name end
  return names
end

--- Nil if admitted; else the quota that refused, and when it may have room.
local function admit(tag, open, execution, epoch, names, now)
  if server.call('EXISTS', keys.void(tag, execution, epoch)) == 1 then return names[1], now end
  for _, name in ipairs(names) do
    if open[name] == nil then open[name] = quota.open(tag, name, now) or false end
  end
  for _, name in ipairs(names) do
    local q = open[name]
    local admits = not q or quota.admits(tag, q, execution, epoch, now)
    if admits == nil then return name, now end
    if not admits then
      for _, other in ipairs(names) do
        if other ~= name and open[other] then quota.renounce(tag, open[other], execution, now) end
      end
      return name, quota.queue(tag, q, execution, epoch)
    end
  end
  for _, name in ipairs(names) do
    if open[name] then quota.take(tag, open[name], execution, epoch) end
  end
  return nil
end

local function run(tag, args)
  local now = clock.now(tag)
  local memory = keys.admit(tag, args[1])
  local known = server.call('GET', memory)
  if known then return cmsgpack.unpack(known) end

  local open, answers = {}, { 'ok' }
  for i = 2, #args, 3 do
    local refused, retry_at = admit(tag, open, args[i], args[i + 1], names_of(args[i + 2]), now)
    answers[#answers + 1] = refused or ''
    answers[#answers + 1] = refused and retry_at or ''
  end
  for _, q in pairs(open) do
    if q then quota.close(tag, q, now) end
  end
  server.call('SET', memory, cmsgpack.pack(answers), 'PX', MEMORY_MS)
  return answers
end
