--- Remove archived executions: exactly those that still wait in the state in which they were read.
--- @key tag the partition
--- @arg items per execution three values: id, birth stamp, number of replays
--- @ok FORGOTTEN
--- @flags allow-oom
--- @requires lib/core/keys lib/core/record lib/admin/archive lib/execution/finish

local function run(tag, args)
  local forgotten = 0
  for i = 1, #args, 3 do
    local id, born, replays = args[i], args[i + 1], args[i + 2]
    local held = server.call('ZSCORE', keys.unarchived(tag), id)
    local rec = held and record.read(tag, id)
    if rec and rec.born == born and (rec.replays or '0') == replays then
      archive.leave(tag, id, rec)
      finish.forget(tag, id, rec)
      forgotten = forgotten + 1
    end
  end
  return { 'ok', forgotten }
end
