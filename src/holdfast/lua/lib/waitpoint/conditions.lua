--- Conditions of a wait: a tree of tables.
---   { op = 'leaf', leaf = N, at = POSITION, names = {..}, where = EXPR }   a signal at a waitpoint
---   { op = 'all' | 'any', of = {..} }     { op = 'count', n = N, by = DISTINCT, of = {..} }
---   { op = 'after', time = MS }           from then on
--- Every leaf has its own list of the signals that matched it, so no two nodes share a pool.
local conditions = {}

--- Call `visit` with every node.
function conditions.walk(node, visit)
  visit(node)
  for _, child in ipairs(node.of or {}) do conditions.walk(child, visit) end
end

--- Whether a signal's name is one of `names`; one that ends in `*` stands for all that begin so.
function conditions.named(names, name)
  if not names then return true end
  for _, wanted in ipairs(names) do
    local stem = wanted:match('^(.*)%*$')
    if wanted == name or (stem and name:sub(1, #stem) == stem) then return true end
  end
  return false
end

--- Whether one of the signals came from a source.
local function has_source(wait, numbers, source)
  for _, number in ipairs(numbers) do
    if wait.sources[number] == source then return true end
  end
  return false
end

--- Count a signal for the leaves of its waitpoint that it matches. `fitting` are the leaves whose
--- expression holds for it, by number. Returns whether there was any, and whether the wait counts
--- sources and has counted this one for each of them already.
function conditions.offer(wait, position, number, signal, source, fitting)
  local matched, repeated, by = false, true, {}
  conditions.walk(wait.tree, function(node)
    if node.by then by[node.by] = true end
    if node.op ~= 'leaf' or node.at ~= position then return end
    if not conditions.named(node.names, signal.name) or (node.where and not fitting[node.leaf]) then return end
    local list = wait.matches[node.leaf]
    repeated = repeated and has_source(wait, list, source)
    list[#list + 1] = number
    matched = true
  end)
  return matched, repeated and by.sources and not by.signals
end

-- How a count distinguishes signals.
local TELL = {
  signals = function(_, number) return number end,
  sources = function(wait, number) return wait.sources[number] end,
  waitpoints = function(wait, number) return wait.places[number] end,
}

local found_by

--- The signals of the children that hold, and how many of these there are.
local function children(node, wait, now)
  local signals, holding = {}, 0
  for _, child in ipairs(node.of) do
    local found = found_by(child, wait, now)
    if found then
      holding = holding + 1
      for _, number in ipairs(found) do signals[#signals + 1] = number end
    end
  end
  return signals, holding
end

local function distinct(signals, wait, by)
  local seen, count = {}, 0
  for _, number in ipairs(signals) do
    local value = TELL[by](wait, number)
    if not seen[value] then
      seen[value] = true
      count = count + 1
    end
  end
  return count
end

--- The signals by which a node holds, or nil if it does not.
found_by = function(node, wait, now)
  if node.op == 'leaf' then
    local list = wait.matches[node.leaf]
    return #list > 0 and list or nil
  end
  if node.op == 'after' then return now >= node.time and {} or nil end
  local signals, holding = children(node, wait, now)
  local least = node.op == 'all' and #node.of or node.n or 1
  local count = node.by and distinct(signals, wait, node.by) or holding
  return count >= least and signals or nil
end

function conditions.hold(wait, now) return found_by(wait.tree, wait, now) ~= nil end

--- How many different sources must answer at a waitpoint, and the numbers of the signals that
--- count so far; nil if that is not what the wait counts.
function conditions.sources_wanted(wait, position)
  local wanted, numbers
  conditions.walk(wait.tree, function(node)
    local leaf = node.by == 'sources' and #node.of == 1 and node.of[1]
    if leaf and leaf.op == 'leaf' and leaf.at == position then
      wanted, numbers = node.n, wait.matches[leaf.leaf]
    end
  end)
  return wanted, numbers
end

--- When time alone may next change the outcome, or nil.
function conditions.next_time(wait, now)
  local next_time
  conditions.walk(wait.tree, function(node)
    if node.op == 'after' and node.time > now and (not next_time or node.time < next_time) then
      next_time = node.time
    end
  end)
  return next_time
end
