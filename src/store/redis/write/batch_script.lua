-- What stands around the body of a verb. KEYS: the dead set, the evidence of the batch. All else is in ARGV.
local server = redis
local dead, evidence = KEYS[1], KEYS[2]
local prefix, queue, run = ARGV[1], ARGV[2], ARGV[3]
local function given(text) if text ~= '' then return text end end
local run_after_ms, to_queue, attempts = tonumber(ARGV[4]), given(ARGV[5]), ARGV[6]
local kind, action, keeps_for_ms = ARGV[7], ARGV[8], ARGV[9]
local clock = server.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
local now_s = clock[1] + clock[2] / 1000000
local function skip(word, sentence) return { 's', word or '', sentence or '' } end
local function fail(sentence) return { 'f', sentence or '' } end

-- Commands that change nothing: they are run in a trial, too.
local READS = {}
for name in string.gmatch('DUMP EXISTS GET HEXISTS HGET HGETALL HKEYS HLEN HMGET HVALS LINDEX LLEN LPOS LRANGE PTTL SCARD ' ..
  'SISMEMBER SMEMBERS STRLEN TIME TTL TYPE XLEN XRANGE XREVRANGE ZCARD ZCOUNT ZRANGE ZRANGEBYSCORE ZRANK ZREVRANGE ZREVRANK ZSCORE',
  '%S+') do READS[name] = true end
-- Commands that put a job where a worker finds it.
local PUSHES = {}
for name in string.gmatch('LPUSH RPUSH LPUSHX RPUSHX LINSERT LMOVE RPOPLPUSH ZADD ZINCRBY XADD SADD RENAME COPY RESTORE', '%S+') do
  PUSHES[name] = true
end
local is_trial, denied, is_pushed = false, nil, false

-- The server's functions as a body sees them: a trial only asks whether the role may do what is written.
local function guarded(call)
  return function(...)
    local name = string.upper((...))
    if is_trial then
      if not server.acl_check_cmd(...) then
        denied = denied or name
        return nil
      end
      if not READS[name] then return 1 end
    end
    local reply = call(...)
    if PUSHES[name] and not (type(reply) == 'table' and reply.err) then is_pushed = true end
    return reply
  end
end
local redis = {
  call = guarded(server.call), pcall = guarded(server.pcall), sha1hex = server.sha1hex,
  error_reply = server.error_reply, status_reply = server.status_reply,
}

local cache = {}
--HELPERS--
local function one(id, member, score, arguments, kept_score)
--BODY--
end

-- How an entry stands: there, changed (it died again meanwhile) or gone.
local function standing(member, score)
  if kind == 'stream' then
    return #server.call('XRANGE', dead, member, member) == 1 and 'there' or 'gone'
  end
  local is = server.call('ZSCORE', dead, member)
  if not is then return 'gone' end
  return tonumber(is) == score and 'there' or 'changed'
end

-- Puts back what was kept of a job: keys with their times to live, fields of hashes, and last its entry.
local function put_back(job)
  for _, kept in ipairs(job.keys) do server.call('RESTORE', kept[1], kept[2], kept[3], 'REPLACE') end
  for _, kept in ipairs(job.fields) do server.call('HSET', kept[1], kept[2], kept[3]) end
  server.call('ZADD', dead, job.score_text, job.member)
  return 'done'
end

local function act(job)
  local stands = standing(job.member, job.score)
  if action == 'restore' or action == 'recall' then
    if stands ~= 'gone' then return skip('there') end
    if action == 'restore' then
      for _, kept in ipairs(job.keys) do
        if server.call('EXISTS', kept[1]) == 1 then return skip('there') end
      end
      return put_back(job)
    end
    local answer = one(job.id, job.member, job.score, nil, job.score)
    if answer ~= 'done' then return answer end
    local is_back, fault = pcall(put_back, job)
    if not is_back then
      server.pcall('ZADD', dead, job.score_text, job.member)
      error(fault)
    end
    return 'done'
  end
  if stands ~= 'there' then return skip(stands) end
  return one(job.id, job.member, job.score, job.arguments, nil)
end

local jobs, at = {}, 10
local function next_word() at = at + 1; return ARGV[at - 1] end
local function triples()
  local all = {}
  for n = 1, tonumber(next_word()) do all[n] = { next_word(), next_word(), next_word() } end
  return all
end
while at <= #ARGV do
  local job = { label = next_word(), id = next_word(), member = next_word(), score_text = next_word() }
  job.score, job.arguments = tonumber(job.score_text), given(next_word())
  job.keys, job.fields = triples(), triples()
  jobs[#jobs + 1] = job
end

-- Jobs are tried first, up to one whose steps are all run, so that nothing is left half done for want of a right. Older servers
-- cannot tell.
if server.acl_check_cmd and jobs[1] then
  is_trial = true
  for _, job in ipairs(jobs) do
    local is_answered, answer = pcall(one, job.id, job.member, job.score, job.arguments, job.score)
    if denied or (is_answered and answer == 'done') then break end
  end
  is_trial, cache = false, {}
  local function needs(...)
    if not server.acl_check_cmd(...) then denied = denied or (...) end
  end
  if action == 'restore' or action == 'recall' then
    for _, kept in ipairs(jobs[1].keys) do needs('RESTORE', kept[1], kept[2], kept[3], 'REPLACE') end
    for _, kept in ipairs(jobs[1].fields) do needs('HSET', kept[1], kept[2], kept[3]) end
    needs('ZADD', dead, jobs[1].score_text, jobs[1].member)
  end
  if denied then return server.error_reply('NOPERM the role may not run ' .. denied) end
end

-- The first write is ours: a server without memory, or a replica, refuses it before any job is touched.
server.call('HSET', evidence, '', run)
server.call('PEXPIRE', evidence, keeps_for_ms)
local answers, done, broke = {}, {}, false
for n, job in ipairs(jobs) do
  if broke then
    answers[n] = { 'l' }
  else
    is_pushed = false
    local is_answered, answer = pcall(act, job)
    if not is_answered then
      broke = true
      local fault = type(answer) == 'table' and answer.err or tostring(answer)
      local is_out = kind == 'zset' and job.score and not server.call('ZSCORE', dead, job.member)
      if is_out and not is_pushed and action ~= 'restore' then
        server.pcall('ZADD', dead, job.score_text, job.member)
      end
      answers[n] = { 'b', fault }
    elseif answer == 'done' then
      answers[n] = { 'd' }
      done[#done + 1] = job.label
      done[#done + 1] = '1'
    else
      answers[n] = type(answer) == 'table' and answer or { 'f', 'the adapter gave no answer' }
    end
  end
end
for first = 1, #done, 200 do
  server.call('HSET', evidence, unpack(done, first, math.min(first + 199, #done)))
end
return answers
