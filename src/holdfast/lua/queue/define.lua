--- Define a queue, or change its definition; its messages stay. The mode never changes.
--- @key tag the queue
--- @arg secret of a new queue, which also tells a repeated call
--- @arg accepts 1: it must be able to take dead letters, else empty
--- @arg fields name, value pairs; an empty value removes. Those of a new queue if accepts is 1
--- @ok created | changed | kept
--- @no queue_conflict | invalid_dead_letter
--- @flags write
--- @requires lib/core/keys lib/core/clock lib/queue/queue lib/core/reply

local function create(tag, secret, fields)
  local made = { 'secret', secret, 'born', clock.now(tag), 'stamp', 0, 'low', 0 }
  for i = 1, #fields, 2 do
    if fields[i + 1] ~= '' then
      made[#made + 1] = fields[i]
      made[#made + 1] = fields[i + 1]
    end
  end
  server.call('HSET', keys.queue(tag), unpack(made))
  local mode = server.call('HGET', keys.queue(tag), 'mode')
  if mode == 'work' then server.call('ZADD', keys.groups(tag), 0, queue.DEFAULT) end
end

local function change(tag, fields)
  local set, unset = {}, {}
  for i = 1, #fields, 2 do
    if fields[i + 1] == '' then
      unset[#unset + 1] = fields[i]
    else
      set[#set + 1] = fields[i]
      set[#set + 1] = fields[i + 1]
    end
  end
  server.call('HSET', keys.queue(tag), unpack(set))
  if #unset > 0 then server.call('HDEL', keys.queue(tag), unpack(unset)) end
end

local function run(tag, args)
  local secret, accepts = args[1], args[2] == '1'
  local fields, wanted = {}, {}
  for i = 3, #args, 2 do
    fields[#fields + 1], fields[#fields + 2] = args[i], args[i + 1]
    wanted[args[i]] = args[i + 1]
  end
  local found = server.call('HMGET', keys.queue(tag), 'mode', 'dead_letter', 'dlq', 'secret')
  local mode, dead_letter, dlq = found[1], found[2], found[3]
  if found[4] == secret then return { 'ok', 'created' } end
  local name = queue.name(tag)
  if accepts then
    if mode and (mode ~= 'work' or dead_letter) then return reply.no('invalid_dead_letter', 'queue', name) end
    if not mode then create(tag, secret, fields) end
    server.call('HSET', keys.queue(tag), 'dlq', '1')
    return { 'ok', mode and 'kept' or 'created' }
  end
  if mode and mode ~= wanted.mode then return reply.no('queue_conflict', 'mode', mode, 'queue', name) end
  if dlq and wanted.dead_letter ~= '' then return reply.no('invalid_dead_letter', 'queue', name) end
  if mode then change(tag, fields) else create(tag, secret, fields) end
  return { 'ok', mode and 'changed' or 'created' }
end
