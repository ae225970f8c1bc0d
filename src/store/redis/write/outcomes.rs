//! Where replayed jobs have got to, as the adapter's script tells it.

use super::batch_script::outcome_words;
use super::copies::JobCopy;
use crate::adapter::redis::{LUA_HELPERS, RawEntry, ReadParts, RedisReply};
use crate::db::redis::{LuaScript, RedisCommand};
use crate::domain::error_text;
use crate::domain::job::JobId;
use crate::domain::outcome::{ObservedOutcome, ReplayOutcome};
use crate::domain::text::Untrusted;
use crate::store::redis::context::RedisContext;
use crate::store::redis::job_id::{JobName, score_text};
use crate::store::{Budget, Result};

/// Jobs of one script.
const AT_ONCE: usize = 100;

/// What stands around the body for one job.
const FRAME: &str = "local prefix, queue, dead = ARGV[1], ARGV[2], KEYS[1]
local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
local now_s = clock[1] + clock[2] / 1000000
local run, run_after_ms, to_queue, attempts, arguments
local function skip(word) return 'unknown' end
local function fail(sentence) return 'unknown' end
--HELPERS--
local cache = {}
local function one(id, member, score, kept_score, kept)
--BODY--
end
local answers = {}
for at = 3, #ARGV, 4 do
  local score, kept = tonumber(ARGV[at + 2]), ARGV[at + 3]
  if kept == '' then kept = nil end
  local word, class = one(ARGV[at], ARGV[at + 1], score, score, kept)
  answers[#answers + 1] = { word or 'unknown', class or '' }
end
return answers
";

/// What is told of each of these jobs.
pub(crate) async fn outcomes(
    context: &RedisContext,
    ids: &[JobId],
    kept: &[(JobId, String)],
    budget: &Budget,
) -> Result<Vec<(JobId, ObservedOutcome)>> {
    let spec = context.spec()?;
    let unknown = |id: &JobId| (id.clone(), ObservedOutcome::from(ReplayOutcome::Unknown));
    let Some(body) = &spec.outcome.lua else { return Ok(ids.iter().map(unknown).collect()) };
    let script = LuaScript::new(FRAME.replace("--HELPERS--", LUA_HELPERS).replace("--BODY--", body.get_ref()));
    let form = context.ids()?;
    let mut asked: Vec<(String, &JobId, [Vec<u8>; 4])> = Vec::new();
    let mut told = Vec::with_capacity(ids.len());
    for id in ids {
        let Some(key) = form.key(id) else {
            told.push(unknown(id));
            continue;
        };
        let copy = kept.iter().find(|(of, _)| of == id).and_then(|(_, text)| JobCopy::read(text).ok());
        let words = match (copy, key.name) {
            (Some(copy), _) => {
                let score = copy.entry().score.map(score_text).unwrap_or_default();
                [copy.name().to_vec(), copy.entry().member, score.into_bytes(), copy.first_field().to_vec()]
            }
            (None, JobName::Entry(member)) => [member.clone(), member, Vec::new(), Vec::new()],
            (None, JobName::Scored(score, name)) => {
                [name.into_bytes(), Vec::new(), score_text(score).into_bytes(), Vec::new()]
            }
        };
        asked.push((key.queue, id, words));
    }
    asked.sort_by(|a, b| a.0.cmp(&b.0));
    for same in asked.chunk_by(|a, b| a.0 == b.0) {
        for part in same.chunks(AT_ONCE) {
            let queue = part.first().map(|(queue, ..)| queue.clone()).unwrap_or_default();
            let mut words: RedisCommand = vec![context.prefix.clone().into_bytes(), queue.clone().into_bytes()];
            words.extend(part.iter().flat_map(|(_, _, words)| words.clone()));
            let reply = context.engine.run(&script, &[context.dead_key(&queue)?], &words, budget).await;
            let RedisReply::List(answers) = reply.map_err(|(error, _)| error)? else { continue };
            for ((_, id, _), answer) in part.iter().zip(&answers) {
                let (word, class) = outcome_words(answer);
                let class = class.map(|text| Untrusted::new(error_class(&text)));
                let outcome = ReplayOutcome::from_statement(&word, class, spec.outcome.gone);
                told.push(((*id).clone(), outcome.unwrap_or(ReplayOutcome::Unknown).into()));
            }
        }
    }
    died_of(context, &mut told, budget).await?;
    Ok(told)
}

/// The error class in what a body answers with: a class, or the text of the error.
fn error_class(text: &str) -> String {
    let is_class = error_text::is_class_name(text.trim());
    let class = if is_class { None } else { error_text::cut(text).class };
    class.map_or_else(|| text.lines().next().unwrap_or_default().to_owned(), |class| class.to_string())
}

/// Names the error class of jobs that died again, as the list shows it.
async fn died_of(context: &RedisContext, told: &mut [(JobId, ObservedOutcome)], budget: &Budget) -> Result<()> {
    let is_dead = |outcome: &ObservedOutcome| matches!(outcome.outcome, ReplayOutcome::DiedAgain(_));
    let ids: Vec<JobId> = told.iter().filter(|(_, outcome)| is_dead(outcome)).map(|(id, _)| id.clone()).collect();
    let wanted = ReadParts::Parts(&[crate::adapter::Part::Error]);
    let found = context.locate(&ids, budget).await?;
    let (mut raw, named): (Vec<RawEntry>, Vec<&JobId>) =
        found.into_iter().zip(&ids).filter_map(|(raw, id)| Some((raw?, id))).unzip();
    context.read(&mut raw, wanted, budget).await?;
    for (raw, id) in raw.iter().zip(named) {
        let class = context.spec()?.job(raw, wanted).row(id.clone()).error_class;
        if let Some((_, outcome)) = told.iter_mut().find(|(of, _)| of == id)
            && class.is_some()
        {
            outcome.outcome = ReplayOutcome::DiedAgain(class);
        }
    }
    Ok(())
}
