--- The split of a deployment, in msgpack:
---   generation   entries = { revision, weight, since } each, sorted by revision   at, by
---   past = the splits before it, the newest first   keys = what recent idempotency keys did
--- `since` is the generation in which the revision became routable; a pin that was written in an earlier
--- generation does not hold.
--- @requires lib/core/keys lib/core/reply lib/deploy/deployments lib/deploy/revisions
local splits = {}

splits.MOST_PAST = 10
local MOST_KEYS = 20

--- The current split; generation 0, which routes nowhere, before the first.
function splits.read(tag, name)
  local packed = server.call('GET', keys.split(tag, name))
  if packed then return cmsgpack.unpack(packed) end
  return { generation = 0, entries = {}, past = {}, keys = {} }
end

--- The entry that routes to a revision, or nil.
function splits.route(split, revision)
  for _, entry in ipairs(split.entries) do
    if entry[1] == revision and entry[2] > 0 then return entry end
  end
  return nil
end

function splits.is_same(these, those)
  if #these ~= #those then return false end
  for i, entry in ipairs(these) do
    if entry[1] ~= those[i][1] or entry[2] ~= those[i][2] then return false end
  end
  return true
end

--- What a call with this key has done before, or nil.
function splits.known(split, key)
  for _, done in ipairs(split.keys) do
    if done.key == key then return done end
  end
  return nil
end

--- A refusal if a split would route to a revision that is not ready, or list a foreign one.
function splits.misfit(tag, name, entries)
  for _, entry in ipairs(entries) do
    local found, refusal = revisions.read(tag, name, entry[1])
    if not found then return refusal end
    if entry[2] > 0 and found.lifecycle ~= 'ready' then
      return reply.no('revision_not_ready', 'id', entry[1], 'lifecycle', found.lifecycle)
    end
  end
  return nil
end

local function remember(split, call)
  local done = { key = call.key, to = call.to, generation = split.generation, entries = split.entries }
  table.insert(split.keys, 1, done)
  split.keys[MOST_KEYS + 1] = nil
end

local function save(tag, name, split) server.call('SET', keys.split(tag, name), cmsgpack.pack(split)) end

--- Route by `entries` from now on, unless that is what the split does already. `call` has the key, who
--- calls, and for a rollback the generation it goes back to. Returns the split.
function splits.apply(tag, name, split, entries, call, now)
  if splits.is_same(split.entries, entries) then
    remember(split, call)
    save(tag, name, split)
    return split
  end
  local past, generation = split.past, split.generation + 1
  if split.generation > 0 then
    local before = { generation = split.generation, entries = split.entries, at = split.at, by = split.by }
    table.insert(past, 1, before)
    past[splits.MOST_PAST + 1] = nil
  end
  local routed = {}
  for i, entry in ipairs(entries) do
    local already = splits.route(split, entry[1])
    routed[i] = { entry[1], entry[2], entry[2] > 0 and (already and already[3] or generation) or 0 }
  end
  split = { generation = generation, entries = routed, at = now, by = call.by, past = past, keys = split.keys }
  remember(split, call)
  save(tag, name, split)
  local event = {
    event = call.to and 'rolled_back' or 'split',
    by = call.by,
    generation = generation,
    to = call.target,
  }
  deployments.changed(tag, name, now, event)
  return split
end

--- GENERATION, entries in msgpack.
function splits.answer(split) return { 'ok', split.generation, cmsgpack.pack(split.entries) } end
