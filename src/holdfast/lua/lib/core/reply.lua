--- Replies are flat arrays: `ok` and values, or `no`, a stable code and context as name, value pairs.
local reply = {}

function reply.no(code, ...) return { 'no', code, ... } end
