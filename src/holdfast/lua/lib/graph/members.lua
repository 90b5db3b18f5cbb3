--- Members of graphs: executions that start when their upstreams allow. Besides the fields of every
--- execution, the record of a member has
---   graph   the id of its graph; the member's own id is GRAPH~KEY
---   ins     how many edges lead to it      need   how many of them must be met for it to start
---   met, unmet   how many edges are decided so far, either way
---   lax     its join is any or quorum      losers   its join cancels upstreams it does not need
---   hears   an edge on failure or always leads to it      inputs   an edge passes data to it
---   spared  its failure does not count     loser   it was cancelled because a join did not need it
---   lost    a join does not need it, but another member still waits for it
---   told    its end is still being passed on: the edges before this offset are resolved
---   delay, run_at   how long, or until when, it waits once its upstreams allow
--- @requires lib/core/keys lib/core/record lib/core/log lib/core/settings lib/execution/requeue
local members = {}

-- What one loses that runs again, or comes back, without its graph; the data that `inputs` stands for it lacks.
members.OWN = {
  'graph', 'ins', 'need', 'met', 'unmet', 'lax', 'losers', 'hears', 'spared', 'loser', 'lost', 'told', 'delay',
  'run_at',
}

local BAD = { failed = true, cancelled = true, expired = true }

-- More upstream results than this are handed out by reference, to be read one by one.
local PASSED_BYTES, PASSED_RESULTS = 65536, 1000
local AWAITED = 20

--- What is left to itself ended badly.
function members.is_bad(state) return BAD[state] == true end

function members.key(graph, id) return id:sub(#graph + 2) end

function members.id(graph, key) return graph .. '~' .. key end

--- Out-edges as a flat list of key, on; on is s, f or a: success, failure, always.
function members.outs(tag, graph, key)
  local packed = server.call('HGET', keys.graph_edges(tag, graph), '>' .. key)
  return packed and cmsgpack.unpack(packed) or {}
end

--- In-edges as a flat list of key, on, input name or empty.
function members.ins(tag, graph, key)
  local packed = server.call('HGET', keys.graph_edges(tag, graph), '<' .. key)
  return packed and cmsgpack.unpack(packed) or {}
end

--- The fields of a member that resolution needs; `state` is nil if the member does not exist.
function members.look(tag, id)
  local found = server.call(
    'HMGET', keys.record(tag, id),
    'state', 'ins', 'need', 'met', 'unmet', 'lax', 'spared', 'told', 'lost'
  )
  return {
    state = found[1] or nil,
    ins = tonumber(found[2] or 0),
    need = tonumber(found[3] or 0),
    met = tonumber(found[4] or 0),
    unmet = tonumber(found[5] or 0),
    lax = found[6],
    spared = found[7],
    told = tonumber(found[8] or nil),
    lost = found[9],
  }
end

--- Whether a member still waits for its upstreams.
function members.undecided(member) return member.state == 'waiting_children' or member.state == 'staged' end

--- Whether its upstreams ever allowed a member to start.
function members.released(member) return tonumber(member.met or 0) >= tonumber(member.need or 0) end

--- Whether a worker has had a member. One that waits for its upstreams again, in a replay, has not
--- started.
function members.begun(member) return member.attempts and not members.undecided(member) or false end

--- Whether an upstream that ended in `state` meets an edge.
function members.meets(on, state)
  return on == 'a' or (on == 's' and state == 'completed') or (on == 'f' and BAD[state] == true)
end

--- Start a member whose upstreams allow it: at once, or after the delay it was submitted with.
function members.begin(tag, id, rec, now, changes)
  local run_at = rec.delay and now + tonumber(rec.delay) or tonumber(rec.run_at or 0)
  if rec.deadline_span and not rec.deadline then
    changes[#changes + 1] = 'deadline'
    changes[#changes + 1] = now + tonumber(rec.deadline_span)
  end
  if run_at > now then
    local lead = tonumber(rec.priority or 0) * settings.priority_us(tag)
    changes[#changes + 1] = 'rank'
    changes[#changes + 1] = math.max(tonumber(rec.born), run_at * 1000) - lead
  end
  record.clear(tag, id, rec, { 'delay', 'run_at' })
  requeue.later(tag, id, rec, now, run_at, 'delay', changes)
end

--- Whether a member that is ready must not be claimed, because its graph is being ended.
function members.barred(tag, rec)
  local mute = server.call('HGET', keys.graph(tag, rec.graph), 'mute')
  return mute == 'all' or (mute == 'pending' and not members.begun(rec))
end

--- How many results a call hands out, in number and bytes.
function members.room() return { bytes = PASSED_BYTES, results = PASSED_RESULTS } end

--- What an upstream passes on: input name, on, id, and unless that is left to be read later its
--- state, content type, and result or the log entry of its end.
function members.pass(tag, id, name, on, room)
  if room.results == 0 then return { name, on, id } end
  local state, result, content_type =
    unpack(server.call('HMGET', keys.record(tag, id), 'state', 'result', 'content_type'))
  room.results = room.results - 1
  if state ~= 'completed' then
    local rec = record.read(tag, id)
    return { name, on, id, rec.state, '', log.ending(tag, id, rec) }
  end
  local bytes = result and #result or server.call('STRLEN', keys.result(tag, id))
  if bytes > room.bytes then return { name, on, id } end
  room.bytes = room.bytes - bytes
  return { name, on, id, state, content_type or '', result or server.call('GET', keys.result(tag, id)) }
end

--- The results of the upstreams of a claimed member, after `first` if that is given.
function members.passed(tag, id, graph, first)
  local room = members.room()
  local edges = members.ins(tag, graph, members.key(graph, id))
  local passed = { first }
  for i = 1, #edges, 3 do
    if edges[i + 2] ~= '' then
      local upstream = members.id(graph, edges[i])
      passed[#passed + 1] = members.pass(tag, upstream, edges[i + 2], edges[i + 1], room)
    end
  end
  return passed
end

--- Key and state of the first upstreams that a member waits for.
function members.awaited(tag, id, rec)
  local edges = members.ins(tag, rec.graph, members.key(rec.graph, id))
  local awaited = {}
  for i = 1, #edges, 3 do
    if #awaited == 2 * AWAITED then break end
    local upstream = record.read(tag, members.id(rec.graph, edges[i]))
    if upstream and not record.is_terminal(upstream.state) then
      awaited[#awaited + 1] = edges[i]
      awaited[#awaited + 1] = upstream.state
    end
  end
  return awaited
end
