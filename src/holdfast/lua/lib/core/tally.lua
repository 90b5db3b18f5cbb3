--- Counts of incidents since the store was created: rare enough to be counted where they happen.
--- @requires lib/core/keys
local tally = {}

function tally.add(tag, name) server.call('HINCRBY', keys.meta(tag), 'n_' .. name, 1) end
