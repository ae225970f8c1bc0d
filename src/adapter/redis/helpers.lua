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

local decoded_text, decoded
-- Whether an object has a member; nil where it cannot be decoded.
local function json_has(text, key)
  if text ~= decoded_text then
    local ok, value = pcall(cjson.decode, text)
    decoded_text, decoded = text, ok and value
  end
  if type(decoded) ~= 'table' then return nil end
  return decoded[key] ~= nil
end

-- Where the value of a member of an object begins and ends; nil where the text is no object, or has no such member. A name that
-- stands there once, and is nowhere spelled with escapes, needs no search: to pass over a payload of megabytes would hold up the
-- server.
local function json_find(text, key)
  local quoted = '"' .. key .. '"'
  local _, behind = string.find(text, quoted, 1, true)
  if not behind then return nil end
  local has = json_has(text, key)
  if has == false then return nil end
  local is_plain = not string.find(text, '\\u00', 1, true)
  if has and is_plain and not string.find(text, quoted, behind + 1, true) then
    local first = string.match(text, '^%s*:%s*()', behind + 1)
    local last = first and json_value_end(text, first)
    if last then return first, last end
  end
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

-- An instant as ISO 8601 with microseconds, in UTC.
local function iso_time(ms)
  local seconds = math.floor(ms / 1000)
  local days, rest = math.floor(seconds / 86400), seconds % 86400
  -- Days of a year that begins in March, in cycles of 400 years: leap days come last.
  local shifted = days + 719468
  local cycle = math.floor(shifted / 146097)
  local day = shifted - cycle * 146097
  local year = math.floor((day - math.floor(day / 1460) + math.floor(day / 36524) - math.floor(day / 146096)) / 365)
  local of_year = day - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  local month = math.floor((5 * of_year + 2) / 153)
  local of_month = of_year - math.floor((153 * month + 2) / 5) + 1
  local calendar = month < 10 and month + 3 or month - 9
  return string.format('%04d-%02d-%02dT%02d:%02d:%02d.%06dZ', cycle * 400 + year + (calendar <= 2 and 1 or 0), calendar, of_month,
    math.floor(rest / 3600), math.floor(rest / 60) % 60, rest % 60, (ms % 1000) * 1000)
end
