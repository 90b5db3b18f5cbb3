--- Set operators' settings; an empty value restores the default. lib/core/settings.lua lists them.
--- @key tag the partition
--- @arg settings name, value pairs
--- @ok
--- @flags allow-oom
--- @requires lib/core/keys

local function run(tag, args)
  for i = 1, #args, 2 do
    if args[i + 1] == '' then
      server.call('HDEL', keys.settings(tag), args[i])
    else
      server.call('HSET', keys.settings(tag), args[i], args[i + 1])
    end
  end
  return { 'ok' }
end
