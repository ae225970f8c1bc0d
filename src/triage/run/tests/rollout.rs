//! Runs that prove themselves, with workers of which some, all or none succeed, killed in each phase.

use std::time::Instant;

use super::*;
use crate::domain::outcome::ReplayOutcome;
use crate::domain::rollout::{Rollout, RolloutPhase};
use crate::domain::run_options::Attempts;
use crate::domain::run_options::pick::Pick;
use crate::ledger::RunJob;
use crate::triage::memory_store::Data;

const JOBS: u64 = 1_000;

fn died() -> ReplayOutcome {
    ReplayOutcome::DiedAgain(Some("KeyError".into()))
}

/// Workers that fail this share of the jobs, in percent.
fn failing(share: u64) -> impl Fn(u64) -> ReplayOutcome + Send {
    // Spread over the cohort, without a period that the choice could share.
    move |job| if job.wrapping_mul(0x9E37_79B9) / 64 % 100 < share { died() } else { ReplayOutcome::Succeeded }
}

fn canary(n: u64) -> Option<Rollout> {
    Rollout::new(Some(n), None, false, Some(Duration::from_secs(1)))
}

fn quick() -> RunOptions {
    RunOptions { batch: 20, adapts: false, outcome_interval: Duration::from_millis(20), ..small() }
}

impl Bench {
    async fn proving(&self, rollout: Option<Rollout>, rate: Option<f64>) -> Result<Plan, PlanError> {
        let options = Options { rollout, ..Pacing { rate, ..Pacing::default() }.into() };
        let scope = ActionScope::Filter(Filter::all());
        let ask = Ask { options, ..Ask::new(scope, Action::Replay, Timestamp(1_795_144_329_000_000)) };
        freeze(&self.fake.desk(), &self.ledger, ask, &Budget::new(Duration::from_secs(1)), |_| {}).await
    }

    fn workers(&self, outcome: impl Fn(u64) -> ReplayOutcome + Send + 'static) {
        self.fake.with(|data| data.workers = Some(Box::new(outcome)));
    }

    async fn phase(&self, run: &RunId) -> RolloutPhase {
        self.ledger.runs().get(run).await.unwrap().rollout.expect("a state").phase
    }

    /// Dies as soon as `is_reached`, in the middle of what it does.
    async fn dies_when(&self, run: &RunId, options: RunOptions, is_reached: impl Fn(&Data) -> bool) {
        let desk = self.fake.desk();
        let death = async {
            while !self.fake.with(|data| is_reached(data)) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            tokio::time::sleep(Duration::from_millis(60)).await;
        };
        tokio::select! {
            receipt = execute(&desk, &self.ledger, run, options, &self.control, &self.progress) => panic!("{receipt:?}"),
            () = death => {}
        }
    }

    async fn again(&self, run: &RunId, options: RunOptions) -> Receipt {
        let desk = self.fake.desk();
        let receipt = resume(&desk, &self.ledger, run, options, &self.control, &self.progress).await.unwrap();
        assert!(receipt.run.tally.adds_up(), "{:?}", receipt.run.tally);
        receipt
    }
}

#[tokio::test]
async fn a_canary_is_spread_over_the_cohort_and_goes_first() {
    let bench = Bench::new(JOBS).await;
    let plan = bench.proving(canary(20), None).await.unwrap();
    let mut chosen: Vec<u64> = plan.breakdown.canary.iter().map(|job| job.id.as_str().parse().unwrap()).collect();
    chosen.sort_unstable();
    assert_eq!((chosen.len(), chosen[0], chosen[19]), (20, 0, JOBS - 1), "{chosen:?}");
    assert!(chosen.windows(2).all(|pair| pair[1] - pair[0] < 200), "{chosen:?}");
    assert!(
        plan.notes.iter().any(|note| note.starts_with("Canary: 20 jobs go first (2 fingerprints")),
        "{:?}",
        plan.notes
    );
    let first = bench.ledger.cohorts().jobs(&plan.run, CohortPart::All, 0, 20).await.unwrap();
    let mut first: Vec<u64> = first.iter().map(|job| job.id.as_str().parse().unwrap()).collect();
    first.sort_unstable();
    assert_eq!(first, chosen);
    bench.workers(failing(100));
    bench.execute(&plan.run, quick()).await;
    assert_eq!(bench.live(), chosen, "nothing but the canary was put back");
}

#[tokio::test]
async fn the_gate_opens_where_few_fail_and_stays_closed_where_many_do() {
    for (share, opens) in [(0, true), (3, true), (30, false), (100, false)] {
        let bench = Bench::new(JOBS).await;
        let run = bench.proving(canary(20), None).await.unwrap().run;
        bench.workers(failing(share));
        let receipt = bench.execute(&run, quick()).await;
        assert_eq!(receipt.is_complete(), opens, "{share} %: {:?}", receipt.halted);
        if !opens {
            let why = receipt.halted.expect("a reason");
            assert!(why.starts_with("died again ") && why.contains(" of 20 canary jobs (KeyError "), "{why}");
            assert_eq!((bench.live().len(), bench.phase(&run).await), (20, RolloutPhase::Stopped), "{share} %");
            assert_eq!(receipt.run.state, RunState::Stopped);
        }
    }
}

#[tokio::test]
async fn a_run_without_a_canary_is_stopped_by_the_outcomes_of_its_jobs() {
    for (share, stops) in [(0, false), (3, false), (30, true), (100, true)] {
        for ramp in [false, true] {
            let bench = Bench::new(JOBS).await;
            let rule = Rollout::new(None, Some(0.05), ramp, None);
            let run = bench.proving(rule, Some(if ramp { 20_000.0 } else { 2_000.0 })).await.unwrap().run;
            bench.workers(failing(share));
            let receipt = bench.execute(&run, quick()).await;
            assert_eq!(receipt.is_complete(), !stops, "{share} %, ramp {ramp}: {:?}", receipt.halted);
            if stops {
                let put_back = bench.live().len();
                assert!(put_back < 500, "{share} %, ramp {ramp}: {put_back} jobs were put back");
                assert!(receipt.halted.is_some_and(|why| why.contains("(KeyError ")));
            }
        }
    }
}

#[tokio::test]
async fn a_rate_grows_while_workers_keep_up_and_not_while_all_jobs_wait() {
    let rule = Rollout::new(None, Some(0.05), true, None);
    let took = async |outcome: fn(u64) -> ReplayOutcome| {
        let bench = Bench::new(300).await;
        let run = bench.proving(rule, Some(3_200.0)).await.unwrap().run;
        bench.workers(outcome);
        let began = Instant::now();
        assert!(bench.execute(&run, quick()).await.is_complete());
        began.elapsed()
    };
    let (lazy, busy) = (took(|_| ReplayOutcome::Waiting).await, took(|_| ReplayOutcome::Succeeded).await);
    // 300 jobs at 100 a second.
    assert!(lazy >= Duration::from_millis(2_600), "{lazy:?}");
    assert!(busy < lazy / 2, "{busy:?} of {lazy:?}");
}

#[tokio::test]
async fn a_late_failure_is_seen_by_a_gate_that_waits_longer_and_is_undecided_for_one_that_does_not() {
    for (delay, why) in
        [(400, "died again 20 of 20"), (2_500, "the gate cannot tell, of 20 jobs of the canary 20 not finished")]
    {
        let bench = Bench::new(100).await;
        let run = bench.proving(canary(20), None).await.unwrap().run;
        let due = Instant::now() + Duration::from_millis(delay);
        bench.workers(move |_| if Instant::now() < due { ReplayOutcome::Running } else { died() });
        let receipt = bench.execute(&run, quick()).await;
        assert!(receipt.halted.as_deref().is_some_and(|told| told.starts_with(why)), "{:?}", receipt.halted);
        assert_eq!(bench.live().len(), 20);
    }
}

#[tokio::test]
async fn a_canary_job_that_waits_for_another_attempt_has_failed() {
    let bench = Bench::new(100).await;
    let run = bench.proving(canary(20), None).await.unwrap().run;
    bench.workers(|_| ReplayOutcome::Retrying(None));
    let receipt = bench.execute(&run, quick()).await;
    assert!(receipt.halted.as_deref().is_some_and(|why| why.starts_with("failed again 20 of 20")), "{receipt:?}");
    assert_eq!(bench.live().len(), 20);
}

#[tokio::test]
async fn without_workers_the_gate_asks_each_time_until_the_operator_opens_it() {
    let bench = Bench::new(100).await;
    let run = bench.proving(canary(20), None).await.unwrap().run;
    let first = bench.execute(&run, quick()).await;
    assert!(first.halted.as_deref().is_some_and(|why| why.contains("--skip-gate")), "{first:?}");
    let second = bench.again(&run, quick()).await;
    assert_eq!((second.halted, bench.live().len()), (first.halted, 20));
    let opened = bench.again(&run, RunOptions { skip_gate: true, ..quick() }).await;
    assert!(opened.is_complete(), "{opened:?}");
    assert_eq!(bench.live(), (0..100).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_layout_that_cannot_tell_makes_the_gate_ask_at_once_and_has_no_automatic_stop() {
    let mut bench = Bench::new(100).await;
    bench.fake = MemoryStore::of(100, |info| info.capabilities.outcomes_unknown = Some("it keeps nothing".into()));
    let refused = bench.proving(Rollout::new(None, Some(0.05), false, None), None).await;
    assert!(matches!(&refused, Err(PlanError::Disabled(why)) if why.contains("it keeps nothing")), "{refused:?}");
    let plan = bench.proving(Rollout::new(Some(20), None, false, Some(Duration::from_secs(600))), None).await.unwrap();
    assert!(plan.warnings.iter().any(|warning| warning.contains("the gate will ask you")), "{:?}", plan.warnings);
    let receipt = bench.execute(&plan.run, quick()).await;
    assert!(receipt.halted.as_deref().is_some_and(|why| why.contains("20 unknown")), "{receipt:?}");
    assert!(bench.again(&plan.run, RunOptions { skip_gate: true, ..quick() }).await.is_complete());
}

#[tokio::test]
async fn a_run_that_was_stopped_by_its_rule_begins_with_another_canary() {
    let bench = Bench::new(JOBS).await;
    let run = bench.proving(canary(20), None).await.unwrap().run;
    bench.workers(failing(100));
    bench.execute(&run, quick()).await;
    let still = bench.again(&run, quick()).await;
    assert!(still.halted.is_some_and(|why| why.starts_with("died again 20 of 20")), "the bug is not fixed");
    assert_eq!(bench.live().len(), 40);
    bench.workers(|_| ReplayOutcome::Succeeded);
    let fixed = bench.again(&run, quick()).await;
    assert!(fixed.is_complete(), "{fixed:?}");
    assert_eq!(bench.live(), (0..JOBS).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_run_that_is_killed_in_any_phase_goes_on_in_it_and_no_job_runs_twice() {
    let everything: Vec<u64> = (0..200).collect();
    // While the canary is put back: the effect of its batch is not on record.
    let bench = Bench::new(200).await;
    let run = bench.proving(canary(50), None).await.unwrap().run;
    bench.fake.with(|data| data.faults = [InjectedFault::Not, InjectedFault::Hang].into());
    bench.dies_when(&run, quick(), |data| data.live.len() == 40).await;
    assert_eq!(bench.phase(&run).await, RolloutPhase::Canary);
    bench.workers(failing(100));
    let receipt = bench.again(&run, quick()).await;
    assert!(receipt.halted.is_some_and(|why| why.contains(" 50 of 50 ")), "all of the canary, and then its gate");
    assert_eq!(bench.live().len(), 50);

    // In the gate: it is asked again.
    let bench = Bench::new(200).await;
    let run = bench.proving(canary(50), None).await.unwrap().run;
    bench.dies_when(&run, quick(), |data| data.live.len() == 50).await;
    assert_eq!(bench.phase(&run).await, RolloutPhase::Gate);
    bench.workers(failing(100));
    let receipt = bench.again(&run, quick()).await;
    assert!(receipt.halted.is_some_and(|why| why.contains(" 50 of 50 ")), "the gate is asked again");
    assert_eq!(bench.live().len(), 50);

    // Behind it: the canary is not repeated, the rule holds.
    for share in [0, 100] {
        let bench = Bench::new(200).await;
        let rule = Rollout::new(Some(20), None, true, None);
        let run = bench.proving(rule, Some(6_400.0)).await.unwrap().run;
        bench.workers(|_| ReplayOutcome::Succeeded);
        bench.fake.with(|data| data.faults = [InjectedFault::Not, InjectedFault::Not, InjectedFault::Hang].into());
        bench.dies_when(&run, quick(), |data| data.live.len() == 60).await;
        assert_eq!(bench.phase(&run).await, RolloutPhase::Rest);
        bench.workers(failing(share));
        let receipt = bench.again(&run, quick()).await;
        assert_eq!(receipt.is_complete(), share == 0, "{receipt:?}");
        match share {
            0 => assert_eq!(bench.live(), everything),
            _ => assert!(receipt.halted.is_some_and(|why| why.starts_with("died again")), "the rule holds"),
        }
    }
}

/// A store whose layout has a choice of attempts.
fn with_attempts(jobs: u64) -> Arc<MemoryStore> {
    MemoryStore::of(jobs, |info| info.capabilities.options.attempts = Attempts::ALL.to_vec())
}

#[tokio::test]
async fn canary_jobs_have_one_attempt_and_the_undo_of_their_replay_knows_that() {
    let mut bench = Bench::new(100).await;
    bench.fake = with_attempts(100);
    let plan = bench.proving(canary(20), None).await.unwrap();
    assert!(plan.notes.iter().any(|note| note.contains("one attempt")), "{:?}", plan.notes);
    bench.workers(failing(100));
    // Killed in its first batch, stopped by the gate, and gone on with: another canary, then the others.
    bench.fake.with(|data| data.faults = [InjectedFault::Not, InjectedFault::Hang].into());
    let small = || RunOptions { batch: 10, ..quick() };
    bench.dies_when(&plan.run, small(), |data| data.live.len() == 20).await;
    assert!(!bench.again(&plan.run, small()).await.is_complete());
    bench.workers(|_| ReplayOutcome::Succeeded);
    assert!(bench.again(&plan.run, small()).await.is_complete());
    let once = |jobs: &[RunJob]| {
        let attempts = bench.fake.with(|data| data.attempts.clone());
        let of = |job: &RunJob| attempts[&job.id.as_str().parse::<u64>().unwrap()];
        jobs.iter().map(of).collect::<Vec<_>>()
    };
    let jobs = bench.ledger.cohorts().jobs(&plan.run, CohortPart::All, 0, 100).await.unwrap();
    assert!(once(&jobs[..40]).iter().all(|attempts| *attempts == Some(Attempts::Once)), "both canaries");
    assert!(once(&jobs[40..]).iter().all(Option::is_none), "the others as the layout does it");

    let scope = ActionScope::Undo(plan.run.clone(), Vec::new());
    let ask = Ask::new(scope, Action::Recall, Timestamp(1_795_144_329_000_000));
    let undo = freeze(&bench.fake.desk(), &bench.ledger, ask, &Budget::new(Duration::from_secs(1)), |_| {}).await;
    let receipt = bench.execute(&undo.unwrap().run, small()).await;
    assert_eq!((receipt.run.tally.done, bench.live().len()), (100, 0), "{:?}", receipt.run.tally);
}

#[tokio::test]
async fn a_canary_has_one_attempt_only_where_that_differs() {
    for (attempts, options, is_single) in [
        (Vec::new(), Options::default(), false),
        (Attempts::ALL.to_vec(), Options { attempts: Some(Attempts::Once), ..Options::default() }, false),
        (vec![Attempts::Once, Attempts::Reset], Options::default(), false),
        (
            vec![Attempts::Once, Attempts::Reset],
            Options { attempts: Some(Attempts::Reset), ..Options::default() },
            true,
        ),
    ] {
        let mut bench = Bench::new(100).await;
        bench.fake = MemoryStore::of(100, |info| info.capabilities.options.attempts = attempts.clone());
        let options = Options { rollout: canary(20), ..options };
        let ask = Ask { options, ..Ask::new(ActionScope::Filter(Filter::all()), Action::Replay, Timestamp(1_000_000)) };
        let plan = freeze(&bench.fake.desk(), &bench.ledger, ask, &Budget::new(Duration::from_secs(1)), |_| {}).await;
        let plan = plan.unwrap();
        assert_eq!(plan.options.rollout.map(|rule| rule.one_attempt), Some(is_single), "{attempts:?}");
    }
}

#[tokio::test]
async fn a_limit_takes_the_jobs_that_were_asked_for() {
    let picked = async |pick: Pick, limit: Option<u64>, scope: ActionScope| {
        let bench = Bench::new(JOBS).await;
        let ask = Ask { pick, limit, ..Ask::new(scope, Action::Replay, Timestamp(1_795_144_329_000_000)) };
        let plan = freeze(&bench.fake.desk(), &bench.ledger, ask, &Budget::new(Duration::from_secs(1)), |_| {}).await?;
        let jobs = bench.ledger.cohorts().jobs(&plan.run, CohortPart::All, 0, 1_000).await.unwrap();
        let ids: Vec<u64> = jobs.iter().map(|job| job.id.as_str().parse().unwrap()).collect();
        Ok::<_, PlanError>((ids, plan.warnings.join(" ")))
    };
    let all = || ActionScope::Filter(Filter::all());
    assert_eq!(picked(Pick::Newest, Some(3), all()).await.unwrap().0, [999, 998, 997]);
    let (oldest, warning) = picked(Pick::Oldest, Some(20), all()).await.unwrap();
    assert_eq!(oldest, (0..20).collect::<Vec<_>>());
    assert!(warning.contains("limited to 20, the oldest first"), "{warning}");
    let (spread, _) = picked(Pick::Spread, Some(10), all()).await.unwrap();
    assert_eq!((spread.len(), spread[0], spread[9]), (10, 999, 0), "{spread:?}");
    assert!(spread.iter().any(|id| id % 2 == 0) && spread.iter().any(|id| id % 2 == 1), "both errors: {spread:?}");
    assert!(spread.windows(2).all(|pair| pair[0] > pair[1] && pair[0] - pair[1] < 400), "{spread:?}");
    let few = ActionScope::Filter(Filter::all());
    assert_eq!(picked(Pick::Spread, Some(500), few).await.unwrap().0.len(), 500);
    for (pick, limit, scope) in [
        (Pick::Oldest, None, all()),
        (Pick::Spread, Some(501), all()),
        (Pick::Oldest, Some(1), ActionScope::Jobs(vec![JobId::new("1")])),
    ] {
        let refused = picked(pick, limit, scope).await;
        assert!(matches!(refused, Err(PlanError::Disabled(_))), "{refused:?}");
    }
}

#[tokio::test]
async fn a_bulk_replay_is_stopped_unasked_only_where_that_is_wished_and_many_jobs_are_meant() {
    for (jobs, guard_above, is_guarded) in [(101, Some(100), true), (100, Some(100), false), (1_000, None, false)] {
        let bench = Bench::new(jobs).await;
        let scope = ActionScope::Filter(Filter::all());
        let ask = Ask { guard_above, ..Ask::new(scope, Action::Replay, Timestamp(1_795_144_329_000_000)) };
        let budget = Budget::new(Duration::from_secs(1));
        let plan = freeze(&bench.fake.desk(), &bench.ledger, ask, &budget, |_| {}).await.unwrap();
        let kept = bench.ledger.runs().get(&plan.run).await.unwrap().intent;
        let rule = is_guarded.then(Rollout::automatic_stop);
        assert_eq!((plan.options.rollout, kept.options.rollout), (rule, rule), "{jobs}, {guard_above:?}");
        assert_eq!(plan.notes.iter().any(|note| note.contains("fail again")), is_guarded, "{:?}", plan.notes);
        assert_eq!(kept.frozen_at, Timestamp(1_795_144_329_000_000));
    }
}
