-- JSON is searched and edited as text: a number keeps its digits, however many, and nothing else of a payload is touched.

-- The last character of the string that begins at a quote; nil where it does not end.
local function json_string_end(text, quote)
  local at = quote
  while true do
    at = string.find(text, '["\\]', at + 1)
    if not at then return nil end
    if string.byte(text, at) == 34 then return at end
    at = at + 1
  end
end

-- The last character of the value that begins there.
local function json_value_end(text, first)
  local mark = string.sub(text, first, first)
  if mark == '"' then return json_string_end(text, first) end
  if mark ~= '{' and mark ~= '[' then
    local after = string.find(text, '[,}%]%s]', first)
    return (after or #text + 1) - 1
  end
  local at, depth = first, 0
  while true do
    at = string.find(text, '["{}%[%]]', at)
    if not at then return nil end
    mark = string.sub(text, at, at)
    if mark == '"' then
      at = json_string_end(text, at)
      if not at then return nil end
    elseif mark == '{' or mark == '[' then
      depth = depth + 1
    else
      depth = depth - 1
      if depth == 0 then return at end
    end
    at = at + 1
  end
end

-- Where the value of a member of an object begins and ends; nil where the text is no object, or has no such member.
local function json_find(text, key)
  local at = string.match(text, '^%s*{()')
  while at do
    local quote = string.match(text, '^[%s,]*()"', at)
    local close = quote and json_string_end(text, quote)
    local first = close and string.match(text, '^%s*:%s*()', close + 1)
    local last = first and json_value_end(text, first)
    if not last then return nil end
    if string.sub(text, quote + 1, close - 1) == key then return first, last end
    at = last + 1
  end
end

-- A member of an object as JSON text; nil where there is none.
local function json_get(text, key)
  local first, last = json_find(text, key)
  return first and string.sub(text, first, last)
end

-- The object with a member set to JSON text, in its place or as the last; nil where the text is no object.
local function json_set(text, key, json)
  local first, last = json_find(text, key)
  if first then return string.sub(text, 1, first - 1) .. json .. string.sub(text, last + 1) end
  local head, inner = string.match(text, '^(%s*{)(.*)}%s*$')
  if not head then return nil end
  local comma = string.find(inner, '%S') and ',' or ''
  return head .. inner .. comma .. '"' .. key .. '":' .. json .. '}'
end

-- The object without a member.
local function json_remove(text, key)
  local first, last = json_find(text, key)
  if not first then return text end
  local before = string.sub(text, 1, first - 1)
  before = string.gsub(before, '%s*"[^"]*"%s*:%s*$', '')
  local after = string.sub(text, last + 1)
  local cut
  before, cut = string.gsub(before, ',%s*$', '')
  if cut == 0 then after = string.gsub(after, '^%s*,%s*', '') end
  return before .. after
end
