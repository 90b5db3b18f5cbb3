--- The roots of budgets: a budget lives in the partition of its root. The partition of its own id
--- stores the root.
--- @key tag the partition of budgets, by the id itself
--- @arg root that the budget belongs to from now on, or empty to ask
--- @arg previous root that is void, or empty @arg ids one, if a root is given
--- @ok per id: its root, empty if it is one, or ? if there is no such budget
--- @flags allow-oom
--- @requires lib/core/keys

local function run(tag, args)
  local root, previous = args[1], args[2]
  local answers = { 'ok' }
  for i = 3, #args do
    local id = args[i]
    local known = server.call('GET', keys.address(tag, id))
    if root ~= '' and (not known or known == previous) and server.call('EXISTS', keys.budget(tag, id)) == 0 then
      server.call('SET', keys.address(tag, id), root)
      known = root
    end
    local own = server.call('EXISTS', keys.budget(tag, id)) == 1
    answers[#answers + 1] = known or (own and (server.call('HGET', keys.budget(tag, id), 'root') or '') or '?')
  end
  return answers
end
