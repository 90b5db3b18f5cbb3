--- Decide which session welcomes a user at an endpoint: the first that asks, as long as no session has done it.
--- @key tag the partition
--- @arg id of the user at the endpoint @arg session that asks @arg done 1 if it has welcomed the user, or empty
--- @ok FIRST as 1 or 0
--- @flags write
--- @requires lib/core/keys

-- A session that asked and did not welcome, because it failed, lets others do it after a day.
local ASKED_MS = 24 * 3600 * 1000
-- A user who comes back after more than a year is welcomed again.
local DONE_MS = 400 * 24 * 3600 * 1000
local DONE = 'done'

local function run(tag, args)
  local id, session, done = unpack(args)
  local key = keys.welcome(tag, id)
  local holder = server.call('GET', key)
  if holder and holder ~= session then return { 'ok', 0 } end
  if done == '1' then
    server.call('SET', key, DONE, 'PX', DONE_MS)
  else
    server.call('SET', key, session, 'PX', ASKED_MS)
  end
  return { 'ok', 1 }
end
