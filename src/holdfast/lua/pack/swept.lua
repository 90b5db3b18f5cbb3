--- A sweep is done with an archive: its parts expire, or are kept. It is asked again if that does not fit.
--- @key tag the global partition
--- @arg archive @arg kept 1 if its parts are kept, 0 if they expire
--- @ok done | again: something has begun to use it, or does not use it any more
--- @flags allow-oom
--- @requires lib/core/keys lib/deploy/archives

local function run(tag, args)
  local archive, kept = unpack(args)
  if archives.is_used(tag, archive) ~= (kept == '1') then return { 'ok', 'again' } end
  server.call('SREM', keys.unused_archives(tag), archive)
  return { 'ok', 'done' }
end
