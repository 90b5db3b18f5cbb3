--- How many executions wait for the archive, and when the oldest of them was created.
--- @key tag the partition
--- @ok WAITING BORN empty if none waits
--- @flags no-writes
--- @requires lib/core/keys

local function run(tag, _)
  local first = server.call('ZRANGE', keys.unarchived(tag), 0, 0, 'WITHSCORES')
  return { 'ok', server.call('ZCARD', keys.unarchived(tag)), first[2] or '' }
end
