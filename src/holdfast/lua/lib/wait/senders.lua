--- Whether a signal is let in. `a` are the arguments of the call by name.
--- @requires lib/core/reply lib/wait/waitpoints lib/wait/conditions lib/wait/signals
local senders = {}

--- Why a token is not good for this waitpoint, or none.
function senders.refuse_token(point, now, token)
  if not point or tonumber(token.made) ~= point.made then return reply.no('invalid_token') end
  if token.grace_until ~= '' and tonumber(token.grace_until) <= now then return reply.no('token_expired') end
end

--- Why the sender may not, before anything is said about the state.
function senders.refuse(id, rec, point, now, a)
  local waitpoint_id = waitpoints.id(id, a.number)
  if a.made ~= '' then
    local refusal = senders.refuse_token(rec and point, now, a)
    if refusal then return refusal end
  elseif not rec or not point then
    return reply.no('waitpoint_not_found', 'id', waitpoint_id)
  end
  local answers = not point.answerers
  for _, identity in ipairs(point.answerers or {}) do answers = answers or identity == a.identity end
  local by, accepted, got
  if not answers then
    by, accepted, got = 'from', point.answerers, a.identity ~= '' and a.identity or 'an unnamed source'
  elseif not conditions.named(point.names, a.name) then
    by, accepted, got = 'named', point.names, a.name
  end
  if not by then return nil end
  local listed = table.concat(accepted, ', ')
  return reply.no('signal_not_allowed', 'id', waitpoint_id, 'name', a.name, 'by', by, 'accepted', listed, 'got', got)
end

--- Why the waitpoint takes no more.
function senders.refuse_more(id, rec, point, now, a)
  local waitpoint_id = waitpoints.id(id, a.number)
  if not waitpoints.lives(point, now) then
    return reply.no('waitpoint_closed', 'id', waitpoint_id, 'why', point.why or 'expired')
  end
  if a.made ~= '' and point.uses and (point.used or 0) >= point.uses then
    return reply.no('token_used_up', 'id', waitpoint_id, 'limit', point.uses)
  end
  if tonumber(rec.signals or 0) >= signals.MOST then
    return reply.no('too_many_signals', 'id', id, 'limit', signals.MOST)
  end
end
