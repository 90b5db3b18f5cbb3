--- Publish the declarations of tasks: the JSON Schema of input and result, and options. Processes that
--- have read them are notified of changes.
--- @key tag the global partition
--- @arg tasks name, description in JSON pairs
--- @ok
--- @flags allow-oom
--- @requires lib/core/keys lib/core/wake

local function run(tag, args)
  local key, changed = keys.tasks(tag), {}
  for i = 1, #args, 2 do
    if server.call('HGET', key, args[i]) ~= args[i + 1] then
      changed[#changed + 1] = args[i]
      changed[#changed + 1] = args[i + 1]
    end
  end
  if #changed > 0 then
    server.call('HSET', key, unpack(changed))
    wake.lane(tag, 'tasks')
  end
  return { 'ok' }
end
