--- Admit executions to quotas: each to all of its quotas here, or to none; then it waits for the
--- first that refused.
--- @key tag the partition of quotas
--- @arg request id of this call; repeated, it gets the same answer
--- @arg items per item: execution, epoch, its quotas here, one per line
--- @ok per item: empty, or the quota that refused and when to expect room, or empty; 0: this epoch is over
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock lib/limit/quota lib/limit/admitting

local MEMORY_MS = 30000

--- The quotas of a list, one per line; those of one call are much alike.
local function names_of(lists, list)
  local names = lists[list]
  if not names then
    names = {}
    for name in list:gmatch('[^\n]+') do names[#names + 1] = name end
    lists[list] = names
  end
  return names
end

--- Open the quotas of all items: by name, false if there is none.
local function open_all(tag, args, lists, now)
  local open, asking = {}, {}
  for i = 2, #args, 3 do
    for _, name in ipairs(names_of(lists, args[i + 2])) do
      local executions = asking[name] or {}
      asking[name] = executions
      executions[#executions + 1] = args[i]
    end
  end
  for name, executions in pairs(asking) do
    local q = quota.open(tag, name, now)
    if q then admitting.look_up(tag, q, executions) end
    open[name] = q or false
  end
  return open
end

--- Whether any of the grants is over; most calls have none.
local function any_void(tag, args)
  local voids = {}
  for i = 2, #args, 3 do voids[(i + 1) / 3] = keys.void(tag, args[i], args[i + 1]) end
  return #voids > 0 and server.call('EXISTS', unpack(voids)) > 0
end

-- In place of a time, for an execution that does not stand in line.
local OVER = 0

--- Nil if admitted; else the quota that refused, and when it may have room.
local function admit(tag, open, execution, epoch, names, now)
  for _, name in ipairs(names) do
    local q = open[name]
    local admits = not q or admitting.admits(tag, q, execution, epoch, now)
    if admits == nil then return name, OVER end
    if not admits then
      for _, other in ipairs(names) do
        if other ~= name and open[other] then admitting.renounce(tag, open[other], execution, now) end
      end
      return name, admitting.queue(tag, q, execution, epoch)
    end
  end
  for _, name in ipairs(names) do
    if open[name] then admitting.take(tag, open[name], execution, epoch) end
  end
  return nil
end

--- Whether all quotas admit everyone who asks; most calls find them so. Then all have started.
local function admit_all(args, open, lists)
  for _, q in pairs(open) do
    if q and not admitting.admits_all(q) then return false end
  end
  for i = 2, #args, 3 do
    for _, name in ipairs(lists[args[i + 2]]) do
      if open[name] then admitting.enter(open[name], args[i], args[i + 1]) end
    end
  end
  return true
end

--- The answers to a call that admits everyone.
local function nothing_refused(args)
  local answers = { 'ok' }
  for i = 2, 1 + 2 * (#args - 1) / 3 do answers[i] = '' end
  return answers
end

--- Ask for each item on its own; adds to `answers`.
local function admit_each(tag, args, open, lists, answers, now)
  for i = 2, #args, 3 do
    local execution, epoch, names = args[i], args[i + 1], lists[args[i + 2]]
    local refused, retry_at
    if server.call('EXISTS', keys.void(tag, execution, epoch)) == 1 then
      refused, retry_at = names[1], OVER
    else
      refused, retry_at = admit(tag, open, execution, epoch, names, now)
    end
    answers[#answers + 1] = refused or ''
    answers[#answers + 1] = refused and retry_at or ''
  end
end

local function run(tag, args)
  local now = clock.now(tag)
  local memory = keys.admit(tag, args[1])
  local known = server.call('GET', memory)
  if known then return known == '' and nothing_refused(args) or cmsgpack.unpack(known) end

  local lists, answers = {}, { 'ok' }
  local open = open_all(tag, args, lists, now)
  local all = not any_void(tag, args) and admit_all(args, open, lists)
  if not all then admit_each(tag, args, open, lists, answers, now) end
  for _, q in pairs(open) do
    if q then quota.close(tag, q, now) end
  end
  server.call('SET', memory, all and '' or cmsgpack.pack(answers), 'PX', MEMORY_MS)
  return all and nothing_refused(args) or answers
end
