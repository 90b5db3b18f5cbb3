--- A binary heap of items: the least `key` comes first, among equal keys the least `name`, at index 1.
local heap = {}

--- Whether one item comes before another.
function heap.before(a, b) return a.key < b.key or (a.key == b.key and a.name < b.name) end

function heap.push(things, thing)
  local at = #things + 1
  while at > 1 do
    local parent = math.floor(at / 2)
    if not heap.before(thing, things[parent]) then break end
    things[at] = things[parent]
    at = parent
  end
  things[at] = thing
end

--- Sift the first item down after its key has increased.
function heap.sink(things)
  local thing, size, at = things[1], #things, 1
  while true do
    local child = at * 2
    if child > size then break end
    if child < size and heap.before(things[child + 1], things[child]) then child = child + 1 end
    if not heap.before(things[child], thing) then break end
    things[at] = things[child]
    at = child
  end
  things[at] = thing
end

--- Remove the first item.
function heap.pop(things)
  local first, size = things[1], #things
  things[1] = things[size]
  things[size] = nil
  if size > 2 then heap.sink(things) end
  return first
end
