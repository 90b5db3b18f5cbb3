--- Lists of `TENANT|ID` in the order of their names.
local catalog = {}

--- Up to `limit` entries of a tenant, or of all, after `after`.
function catalog.page(key, tenant, after, limit)
  local from = tenant ~= '' and '[' .. tenant .. '|' or '-'
  if after ~= '' then from = '(' .. after end
  -- The character that follows the bar ends the range of a tenant.
  local to = tenant ~= '' and '(' .. tenant .. '}' or '+'
  return server.call('ZRANGE', key, from, to, 'BYLEX', 'LIMIT', 0, limit)
end
