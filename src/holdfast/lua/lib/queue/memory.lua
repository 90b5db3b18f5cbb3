--- What calls got, for a short time: a call that is repeated after a lost reply gets the same.
--- @requires lib/core/keys
local queue_memory = {}

-- Longer than any caller repeats a call whose reply it lost.
local MEMORY_MS = 60000

function queue_memory.recall(tag, request) return server.call('GET', keys.claim(tag, request)) end

function queue_memory.keep(tag, request, text)
  server.call('SET', keys.claim(tag, request), text, 'PX', MEMORY_MS)
end
