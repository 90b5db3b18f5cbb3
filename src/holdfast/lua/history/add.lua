--- Add a sample to the history of lanes and queues. Series of which nothing is kept any more are forgotten.
--- @key tag the global partition
--- @arg levels how many figures of a sample are levels; the others are counts that only grow
--- @arg samples series, figures with spaces between them
--- @ok ADDED
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock lib/admin/history

local function forget_old(tag, present)
  for _, series in ipairs(server.call('HKEYS', keys.history_counts(tag))) do
    if not present[series] and server.call('EXISTS', keys.history(tag, 'week', series)) == 0 then
      server.call('HDEL', keys.history_counts(tag), series)
    end
  end
end

local function run(tag, args)
  local levels, now, present = tonumber(args[1]), clock.now(tag), {}
  for i = 2, #args, 2 do
    local series = args[i]
    present[series] = true
    local figures = history.figures(tag, series, levels, args[i + 1])
    history.add(tag, 'hour', series, levels, figures, now)
    history.add(tag, 'week', series, levels, figures, now)
  end
  forget_old(tag, present)
  return { 'ok', (#args - 1) / 2 }
end
