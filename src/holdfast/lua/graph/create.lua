--- Create a graph: its members, given here or staged before, appear atomically.
--- @key tag the partition
--- @arg id
--- @arg fields in msgpack: tenant, digest, nonce, members, staged, key, deadline, keep, budgets, on_end, bond
--- @arg items per member two values: its fields in msgpack, its input
--- @ok created | duplicate, VERSION
--- @no id_conflict | idempotency_conflict | lane_draining | staging_lost | parent_ended
--- @event created
--- @flags write
--- @requires lib/core/stamps lib/core/keys lib/core/clock lib/core/reply lib/graph/enrol
--- @requires lib/graph/graphs lib/graph/work lib/execution/children

--- The answer for an id that is taken: by the same call, by the same content, or by other content.
local function answer_taken(id, found, fields)
  local _, digest, nonce, version = unpack(found)
  if nonce == fields.nonce then return { 'ok', 'created', version } end
  if digest == fields.digest then return { 'ok', 'duplicate', version } end
  if fields.key then return reply.no('idempotency_conflict', 'id', id) end
  return reply.no('id_conflict', 'id', id)
end

local function compose(fields, now, born)
  local graph = {
    state = 'running', tenant = fields.tenant, born = born, revision = 1,
    members = fields.members, open = fields.members,
    digest = fields.digest, nonce = fields.nonce, key = fields.key, keep = fields.keep,
    budgets = fields.budgets, on_end = fields.on_end, bond = fields.bond,
  }
  if fields.deadline then
    graph.deadline_span, graph.deadline = fields.deadline, now + fields.deadline
  end
  return graph
end

local function run(tag, args)
  local id, fields = args[1], cmsgpack.unpack(args[2])
  local now = clock.now(tag)
  local items = enrol.items(args, 3)
  local found = server.call('HMGET', keys.graph(tag, id), 'state', 'digest', 'nonce', 'revision')
  local staging = found[1] == 'staging'
  if found[1] and (not staging or found[2] ~= fields.digest) then return answer_taken(id, found, fields) end
  local staged = server.call('ZCARD', keys.graph_members(tag, id))
  if fields.staged and staged ~= fields.members then return reply.no('staging_lost', 'id', id) end
  local refusal = enrol.refusal(tag, id, items)
  if refusal then return refusal end
  if fields.bond and not children.can_bind(tag, id, fields.tenant) then
    return reply.no('parent_ended', 'id', id)
  end

  local graph = compose(fields, now, stamps.next(tag, now))
  stamps.take(tag, graph.born)
  if not fields.staged then enrol.add(tag, id, items, args, 4, now) end
  local flat = {}
  for name, value in pairs(graph) do
    flat[#flat + 1] = name
    flat[#flat + 1] = value
  end
  server.call('HSET', keys.graph(tag, id), unpack(flat))
  if staging then server.call('HDEL', keys.graph(tag, id), 'due') end
  graphs.enter(tag, id, graph)
  if fields.bond then children.bind(tag, id, graph.born) end
  if graph.deadline or staging then graphs.arm(tag, id, graph, now) end
  if fields.staged then work.sweep(work.new(tag, id, now, work.BY_TIMER), 'start') end
  return { 'ok', 'created', 1 }
end
