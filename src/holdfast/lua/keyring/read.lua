--- The signing keys, only for processes that sign and verify tokens.
--- @key tag the global partition
--- @ok NOW CURRENT PREVIOUS, and per key: KID SECRET_HEX UNTIL or empty
--- @flags no-writes
--- @requires lib/core/clock lib/admin/keyring

local function run(tag, _)
  local rows, current, previous = keyring.all(tag)
  return { 'ok', clock.now(tag), current, previous, rows }
end
