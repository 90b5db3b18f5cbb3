--- The revisions that drain, in all envs.
--- @key tag the global partition
--- @ok ENV|TENANT|DEPLOYMENT|REVISION of each
--- @flags no-writes
--- @requires lib/core/keys

local function run(tag, _) return { 'ok', server.call('SMEMBERS', keys.draining_revisions(tag)) } end
