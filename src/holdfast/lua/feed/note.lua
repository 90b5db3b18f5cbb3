--- Append nouns of other partitions, such as queues, to the feed of a tenant, with what a process has seen of
--- them; what the feed has already is not repeated. The first call after a feed was switched on only remembers.
--- @key tag the global partition
--- @arg tenant @arg noun @arg whole 1 if these are all that there are: the others were removed
--- @arg seen id, facts pairs
--- @ok NOTED
--- @flags allow-oom
--- @requires lib/core/keys lib/stream/feed

local function run(tag, args)
  local tenant, noun, whole, _ = unpack(args)
  if not feed.has_nouns(tag, tenant) then return { 'ok', 0 } end
  local key, noted, here = keys.feed_marks(tag, tenant), 0, {}
  local is_first = server.call('HSETNX', key, noun, '') == 1
  for i = 4, #args, 2 do
    local id, facts = args[i], args[i + 1]
    here[id] = true
    local before = server.call('HGET', key, noun .. '|' .. id)
    if before ~= facts then
      server.call('HSET', key, noun .. '|' .. id, facts)
      if not is_first then
        noted = noted + 1
        feed.noted(tag, tenant, noun, id, before and 'changed' or 'created', 'facts', facts)
      end
    end
  end
  if whole == '1' then
    for _, name in ipairs(server.call('HKEYS', key)) do
      local id = name:match('^' .. noun .. '|(.*)$')
      if id and not here[id] then
        noted = noted + 1
        server.call('HDEL', key, name)
        feed.noted(tag, tenant, noun, id, 'removed')
      end
    end
  end
  return { 'ok', noted }
end
