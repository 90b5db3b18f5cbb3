--- Whether a signal is let in. `a` are the arguments of the call by name.
--- @requires lib/core/reply lib/waitpoint/waitpoints lib/waitpoint/conditions lib/waitpoint/signals
local senders = {}

--- Whether a list has a value.
local function lists(values, value)
  for _, other in ipairs(values or {}) do
    if other == value then return true end
  end
  return false
end

--- Whether a token is for this waitpoint: of a person who may answer, if each has a token, else of nobody.
local function fits(point, token)
  if tonumber(token.made) ~= point.made then return false end
  local person = token.person or ''
  if point.personal then return lists(point.answerers, person) end
  return person == ''
end

--- Why a token is not good for this waitpoint, or none.
function senders.refuse_token(point, now, token)
  if not point or not fits(point, token) then return reply.no('invalid_token') end
  if token.grace_until ~= '' and tonumber(token.grace_until) <= now then return reply.no('token_expired') end
end

--- Refuse a person to whom a waitpoint has given no token; none if each holder of the token may answer.
function senders.refuse_person(id, number, point, person)
  if not point.personal and person == '' then return nil end
  if point.personal and lists(point.answerers, person) then return nil end
  local accepted = point.personal and table.concat(point.answerers, ', ') or 'the holder of its one token'
  local got = person ~= '' and person or 'an unnamed source'
  local waitpoint = waitpoints.id(id, number)
  return reply.no('signal_not_allowed', 'id', waitpoint, 'by', 'from', 'accepted', accepted, 'got', got)
end

--- Why the sender may not, before anything is said about the state. At a waitpoint with a token for each
--- person, the token says who answers.
function senders.refuse(id, rec, point, now, a)
  local waitpoint = waitpoints.id(id, a.number)
  if a.made ~= '' then
    local refusal = senders.refuse_token(rec and point, now, a)
    if refusal then return refusal end
  elseif not rec or not point then
    return reply.no('waitpoint_not_found', 'id', waitpoint)
  end
  local by, accepted, got
  if point.personal and a.made == '' then
    by, accepted, got = 'with', { 'a token of ' .. table.concat(point.answerers, ', ') }, 'no token'
  elseif point.personal and a.identity ~= '' and a.identity ~= a.person then
    by, accepted, got = 'from', { a.person .. ', the person of this token' }, a.identity
  elseif point.answerers and not point.personal and not lists(point.answerers, a.identity) then
    by, accepted, got = 'from', point.answerers, a.identity ~= '' and a.identity or 'an unnamed source'
  elseif not conditions.named(point.names, a.name) then
    by, accepted, got = 'named', point.names, a.name
  end
  if not by then
    if point.personal then a.type, a.identity = 'person', a.person end
    return nil
  end
  local list = table.concat(accepted, ', ')
  return reply.no('signal_not_allowed', 'id', waitpoint, 'name', a.name, 'by', by, 'accepted', list, 'got', got)
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
