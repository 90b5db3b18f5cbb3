--- Write something, so that what this connection waits for next is later than everything before.
--- @key tag the partition
--- @ok
--- @flags allow-oom
--- @requires lib/core/keys

local KEPT_MS = 60000

local function run(tag, _)
  server.call('SET', keys.ack(tag), '1', 'PX', KEPT_MS)
  return { 'ok' }
end
