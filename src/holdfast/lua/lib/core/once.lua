--- Calls with a token: one that is repeated because its reply was lost gets the first answer, and leaves what
--- others did since.
--- @requires lib/core/keys
local once = {}

-- Longer than any caller repeats a call whose reply it lost.
local MEMORY_MS = 60000

--- What `act` answers, or answered to the first call with this token; older callers send none. A refusal is not
--- remembered.
function once.run(tag, token, act, args)
  local known = token and server.call('GET', keys.claim(tag, token))
  if known then return cmsgpack.unpack(known) end
  local answer = act(tag, args)
  if token and answer[1] == 'ok' then
    server.call('SET', keys.claim(tag, token), cmsgpack.pack(answer), 'PX', MEMORY_MS)
  end
  return answer
end
