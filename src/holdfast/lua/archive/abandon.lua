--- Let retention remove executions that wait for the archive, unless an archive is still set.
--- @key tag the partition
--- @arg limit
--- @ok GIVEN_BACK LEFT
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock lib/core/record lib/admin/archive lib/core/timers

local function run(tag, args)
  local now = clock.now(tag)
  local held = server.call('ZRANGE', keys.unarchived(tag), 0, args[1] - 1)
  for _, id in ipairs(held) do
    local rec = record.read(tag, id)
    archive.leave(tag, id, rec)
    if rec then
      record.write(tag, id, rec, { 'due', now })
      timers.arm(tag, id, rec, now)
    end
  end
  return { 'ok', #held, server.call('ZCARD', keys.unarchived(tag)) }
end
