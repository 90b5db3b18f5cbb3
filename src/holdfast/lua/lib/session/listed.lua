--- Pages of lists in the order of a time, the newest first. A page starts after a place:
---   before = in ms, or +inf   last = of the members at that time the one to start after, or empty
---   limit = how many
local listed = {}

local CHUNK = 100

--- Whether a member comes after the place where the last page ended.
function listed.follows(member, at, wanted)
  if wanted.last == '' or tonumber(at) < tonumber(wanted.before) then return true end
  return at == wanted.before and member < wanted.last
end

--- What a caller asks for.
function listed.wanted(before, last, limit)
  return { before = before ~= '' and before or '+inf', last = last, limit = tonumber(limit) }
end

--- Call `take` with the members of a page and their times.
function listed.each(key, wanted, take)
  local offset, taken = 0, 0
  while true do
    local page = server.call(
      'ZRANGE', key, wanted.before, '-inf', 'BYSCORE', 'REV', 'LIMIT', offset, CHUNK, 'WITHSCORES'
    )
    for i = 1, #page, 2 do
      if listed.follows(page[i], page[i + 1], wanted) then
        take(page[i], page[i + 1])
        taken = taken + 1
        if taken == wanted.limit then return end
      end
    end
    if #page < 2 * CHUNK then return end
    offset = offset + CHUNK
  end
end
