--- Lists of `TENANT|ID` in the order of their names.
local catalog = {}

--- Up to `limit` entries of a tenant, or of all, after `after`. Callers choose that, so one that is not of
--- the tenant leads to its first entry.
function catalog.page(key, tenant, after, limit)
  local prefix = tenant ~= '' and tenant .. '|' or ''
  local from = prefix ~= '' and '[' .. prefix or '-'
  if after ~= '' and after:sub(1, #prefix) == prefix then from = '(' .. after end
  -- The character that follows the bar ends the range of a tenant.
  local to = tenant ~= '' and '(' .. tenant .. '}' or '+'
  return server.call('ZRANGE', key, from, to, 'BYLEX', 'LIMIT', 0, limit)
end
