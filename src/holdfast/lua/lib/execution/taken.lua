--- Items whose execution exists: what is answered instead of creating it.
--- @requires lib/core/keys lib/core/record lib/execution/windows
local taken = {}

--- The answer for an id that is taken: by the same call, by the same content, or by other content.
local function answer(id, found, item)
  if item.nonce and found.nonce == item.nonce then return { 'created', found.state } end
  if not item.digest or found.digest == item.digest then return { 'duplicate', id, found.state } end
  return { 'no', item.key and not item.named and 'idempotency_conflict' or 'id_conflict', id }
end

--- The answer for an item that already exists, or whose key is bound to another id. `is_new` says that
--- there is no execution with its id.
function taken.find(tag, item, input, is_new, now)
  if item.window then return windows.answer(tag, item, input, is_new, now) end
  local id = item.id
  local alias = item.key and not item.named and server.call('GET', keys.alias(tag, item.tenant, item.key))
  if alias then
    local other, digest = alias:match('^(%S+) (%S+)$')
    if other ~= id and digest ~= item.digest then return { 'no', 'idempotency_conflict', other, digest } end
    if other ~= id then return { 'duplicate', other, '' } end
  end
  if is_new then return nil end
  local found = record.get(tag, id, 'state', 'digest', 'nonce')
  if not found[1] then return nil end
  return answer(id, { state = found[1], digest = found[2], nonce = found[3] }, item)
end
