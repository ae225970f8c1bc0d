//! How long the gate waits for the outcomes of canary jobs, where nobody said so: by how long jobs of their classes ran.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::domain::histogram::grouped;
use crate::domain::rollout::canary::CanaryJob;
use crate::domain::rollout::{DEFAULT_GATE_WAIT, Rollout};
use crate::domain::text::Untrusted;
use crate::domain::time::exact_span;
use crate::store::{Budget, RunTime, SourceError};
use crate::triage::StoreContext;

/// Runs of a class below which it tells nothing.
const MIN_RUNS: usize = 5;
/// The longest wait that nobody asked for.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// How long jobs of the classes of a canary ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunTimes {
    /// Runs of these classes.
    runs: usize,
    /// What 95 % of the runs of a class took at most, of the class that takes longest.
    p95: Duration,
}

impl RunTimes {
    /// Those that the store shows; `None` where it shows too few.
    ///
    /// # Errors
    /// When the caller cancels. A plan can do without them.
    pub(super) async fn read(
        desk: &StoreContext,
        canary: &[CanaryJob],
        budget: &Budget,
    ) -> Result<Option<Self>, SourceError> {
        match desk.store.plan().run_times(budget).await {
            Ok(read) => Ok(Self::of(&read, canary)),
            Err(_) if !budget.cancel.is_cancelled() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn of(read: &[RunTime], canary: &[CanaryJob]) -> Option<Self> {
        let classes: HashSet<&Option<Untrusted>> = canary.iter().map(|job| &job.job_class).collect();
        let mut by_class: HashMap<&Option<Untrusted>, Vec<Duration>> = HashMap::new();
        for run in read.iter().filter(|run| classes.contains(&run.job_class)) {
            by_class.entry(&run.job_class).or_default().push(run.took);
        }
        by_class.retain(|_, times| times.len() >= MIN_RUNS);
        let runs = by_class.values().map(Vec::len).sum();
        let p95 = by_class.into_values().filter_map(p95).max()?;
        Some(Self { runs, p95 })
    }

    /// How long the gate waits: twice what most runs take, and never less than the usual time.
    fn wait(self) -> Duration {
        Duration::from_secs((self.p95 * 2).as_secs_f64().ceil() as u64).clamp(DEFAULT_GATE_WAIT, LONGEST)
    }
}

/// What 95 % of these took at most.
fn p95(mut times: Vec<Duration>) -> Option<Duration> {
    times.sort_unstable();
    times.get((times.len() * 95).div_ceil(100).checked_sub(1)?).copied()
}

/// The rule with the time that its gate waits, where nobody said so.
pub(super) fn with_wait(rule: Rollout, times: Option<RunTimes>) -> Rollout {
    match times.filter(|_| !rule.is_wait_asked) {
        Some(times) => Rollout { gate_wait: times.wait().as_secs(), ..rule },
        None => rule,
    }
}

/// Where the time comes from, to stand behind it: `(twice what 95% of 812 runs of these classes took)`.
pub(super) fn origin(rule: Rollout, times: Option<RunTimes>) -> String {
    match times {
        _ if rule.is_wait_asked => "as asked for".to_owned(),
        None => "the usual time: the table does not show how long such jobs run".to_owned(),
        Some(times) => {
            let runs = grouped(times.runs as u64);
            match times.wait() == DEFAULT_GATE_WAIT {
                true => format!("the usual time: 95% of {runs} runs of these classes took {} at most", span(times.p95)),
                false => format!("twice what 95% of {runs} runs of these classes took at most: {}", span(times.p95)),
            }
        }
    }
}

/// A time in words, rounded up to whole seconds.
fn span(time: Duration) -> String {
    exact_span(Duration::from_secs(time.as_secs_f64().ceil() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::job::JobRow;

    fn canary(classes: &[&str]) -> Vec<CanaryJob> {
        let row = |class: &&str| JobRow { job_class: Some((*class).into()), ..JobRow::bare("1") };
        classes.iter().map(|class| CanaryJob::of(1, &row(class))).collect()
    }

    fn runs(class: &str, seconds: impl IntoIterator<Item = u64>) -> Vec<RunTime> {
        let took = |s| RunTime { job_class: Some(class.into()), took: Duration::from_secs(s) };
        seconds.into_iter().map(took).collect()
    }

    #[test]
    fn the_wait_is_twice_what_most_runs_of_the_slowest_class_take() {
        let rule = Rollout::new(Some(20), None, false, None).expect("a rule");
        // Five of a hundred take far longer: they do not count.
        let slow = runs("Import", (1..=95).map(|_| 100).chain([9_000; 5]));
        let read = [slow, runs("Mail", [1; 50]), runs("Other", [50_000; 50])].concat();
        let times = RunTimes::of(&read, &canary(&["Mail", "Import"]));
        assert_eq!(times, Some(RunTimes { runs: 150, p95: Duration::from_secs(100) }));
        assert_eq!(with_wait(rule, times).gate_wait, 200);
        assert_eq!(origin(rule, times), "twice what 95% of 150 runs of these classes took at most: 1m40s");
        let quick = RunTimes::of(&read, &canary(&["Mail"]));
        assert_eq!(with_wait(rule, quick).gate_wait, 60, "a job waits for its worker first");
        assert_eq!(origin(rule, quick), "the usual time: 95% of 50 runs of these classes took 1s at most");
    }

    #[test]
    fn what_was_asked_for_stays_and_few_runs_tell_nothing() {
        let asked = Rollout::new(Some(20), None, false, Some(Duration::from_secs(5))).expect("a rule");
        let times = RunTimes::of(&runs("Import", [100; 5]), &canary(&["Import"]));
        assert_eq!((with_wait(asked, times), origin(asked, times)), (asked, "as asked for".to_owned()));
        assert_eq!(RunTimes::of(&runs("Import", [100; 4]), &canary(&["Import"])), None);
        assert_eq!(RunTimes::of(&[], &canary(&["Import"])), None);
    }
}
