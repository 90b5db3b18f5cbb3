--- The rollouts that are not over, in all envs.
--- @key tag the global partition
--- @ok ENV|TENANT|DEPLOYMENT|ROLLOUT of each
--- @flags no-writes
--- @requires lib/core/keys

local function run(tag, _) return { 'ok', server.call('SMEMBERS', keys.active_rollouts(tag)) } end
