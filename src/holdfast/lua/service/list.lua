--- The reports of processes about their services that have not expired.
--- @key tag the global partition
--- @ok process, services in JSON of each
--- @flags no-writes
--- @requires lib/core/keys lib/core/clock

local function run(tag, _)
  local reports = { 'ok' }
  for _, process in ipairs(server.call('ZRANGEBYSCORE', keys.service_expiries(tag), clock.now(tag) + 1, '+inf')) do
    reports[#reports + 1] = process
    reports[#reports + 1] = server.call('HGET', keys.services(tag), process)
  end
  return reports
end
