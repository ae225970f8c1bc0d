//! Golden frames.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::fixture::{self, NOW};
use super::{SIZES, frame};
use crate::domain::action::Action;
use crate::domain::filter::Filter;
use crate::domain::job::JobId;
use crate::domain::mark::comparison::{Change, ComparedBar};
use crate::domain::mark::{MarkName, NamedMoment};
use crate::domain::outcome::{OutcomeCounts, ReplayOutcome};
use crate::domain::repair::EditableArguments;
use crate::domain::rollout::{Rollout, RolloutPhase, RolloutState};
use crate::domain::run_options::Options;
use crate::domain::run_options::rate::Pacing;
use crate::ledger::{RunId, RunState};
use crate::store::Preparation;
use crate::triage::mark_comparison::MarkComparison;
use crate::triage::plan::Confirm;
use crate::triage::progress::FreezeProgress;
use crate::tui::StoreChoice;
use crate::tui::app::model::PlanWords;
use crate::tui::app::model::{
    ConnectionState, ContrastPage, EditPage, Focus, FollowedReplay, HelpPage, Loss, MarkBars, Model, Overlay, Picker,
    PlanDialog, ResumeDialog, RunsPage, ScrollState, compare_with, counted_by,
};
use crate::tui::app::{Msg, Request, Slot, update};
use crate::tui::keys::KeyContext;

/// Compares a frame at each size with the one that was kept.
fn golden(name: &str, model: impl Fn((u16, u16)) -> Model) {
    for (width, height) in SIZES {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../snapshots");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(format!("{name}_{width}x{height}"), frame(&model((width, height)))));
    }
}

fn over(mut model: Model, overlay: Overlay) -> Model {
    model.overlay = overlay;
    model
}

fn typed(mut model: Model, text: &str) -> Model {
    for c in text.chars() {
        let code = if c == '\t' { KeyCode::Tab } else { KeyCode::Char(c) };
        let _ = update(&mut model, Msg::Key(KeyEvent::new(code, KeyModifiers::NONE)), NOW);
    }
    model
}

fn plan(size: (u16, u16), confirm: Confirm) -> Model {
    let dialog = PlanDialog {
        plan: fixture::plan(confirm),
        typed: tui_input::Input::new("60,3".into()),
        drawn: true,
        seen: Some(NOW),
        top: 0,
        complaint: None,
        words: PlanWords::default(),
        shell: None,
    };
    over(fixture::night(size), Overlay::Plan(Box::new(dialog)))
}

#[test]
fn bars_that_are_asked_for_are_not_said_to_be_left_out() {
    let mut model = fixture::night((80, 24));
    model.histogram.shown = None;
    model.list.clear();
    assert!(frame(&model).contains("not counted"));
    let _ = model.requests.ask(Slot::Histogram, Request::Totals(true));
    assert!(!frame(&model).contains("not counted") && frame(&model).contains("counting"));
}

#[test]
fn a_denied_role_reads_the_whole_grant() {
    let reason = "the database role may not do that: the role looker may not SELECT public.dead_letter_jobs, nor use the \
                  schema accounting: GRANT SELECT ON public.dead_letter_jobs TO looker; GRANT USAGE ON SCHEMA accounting TO looker";
    for size in [(60, 20), (80, 24), (100, 30), (200, 50)] {
        let mut model = fixture::night(size);
        (model.source.opened, model.histogram.shown) = (None, None);
        model.list.clear();
        model.live.link = ConnectionState::Down {
            loss: Loss::Right,
            reason: reason.to_owned(),
            retry_at: NOW.after(Duration::from_secs(3)),
            attempts: 1,
        };
        let frame = frame(&model);
        assert!(frame.contains("NO ACCESS") && !frame.contains("DISCONNECTED"), "{frame}");
        let missing: Vec<&str> = reason.split(' ').filter(|word| !frame.contains(word)).collect();
        assert!(missing.is_empty() && !frame.contains('…'), "{missing:?} {frame}");
    }
}

#[test]
fn the_heading_of_short_values_is_whole() {
    // A smaller screen shows no bars beside the list.
    for size in SIZES.into_iter().filter(|(width, _)| *width >= 80) {
        let mut model = fixture::night(size);
        let shown = model.histogram.shown.as_mut().expect("bars");
        shown.bars.iter_mut().for_each(|bar| bar.value = Some("E".into()));
        assert!(frame(&model).contains("error class (7) "), "{}", frame(&model));
    }
}

#[test]
fn polls_that_are_given_up_say_why_and_when_the_next_one_comes() {
    let given_up = |size, polls, seconds| {
        let mut model = fixture::night(size);
        for _ in 0..polls {
            model.live.poll.give_up(Duration::from_secs(seconds));
        }
        frame(&model)
    };
    let wide = |polls, seconds| given_up((140, 45), polls, seconds);
    assert!(wide(1, 2).contains("poll took over 2.0 s, next in 6s"), "{}", wide(1, 2));
    assert!(wide(6, 2).contains("poll took over 2.0 s, next in 3m"), "{}", wide(6, 2));
    assert!(wide(1, 0).contains("poll failed, next in 6s"), "{}", wide(1, 0));
    // Where there is no room for it.
    assert!(given_up((80, 24), 6, 2).contains("● slow"), "{}", given_up((80, 24), 6, 2));
}

#[test]
fn a_poll_that_cost_more_for_once_changes_nothing_on_the_screen() {
    let mut model = fixture::night((140, 45));
    let mut after = |ms| {
        model.live.poll_answered(Duration::from_millis(ms));
        frame(&model)
    };
    let before = after(3);
    assert_eq!([40, 3, 12, 3].map(&mut after), [&before; 4].map(String::clone));
    after(40);
    assert!(after(41).contains("polled every 4s, 40 ms each"), "{}", after(41));
}

#[test]
fn a_believable_night() {
    golden("night_list", fixture::night);
    golden("night_histogram", |size| fixture::focused(fixture::night(size), Focus::Histogram));
    golden("night_detail", |size| fixture::focused(fixture::night(size), Focus::Detail));
}

/// The night's bars against a mark: each word, and a value that is gone.
fn against_mark(size: (u16, u16)) -> Model {
    let mut model = fixture::focused(fixture::night(size), Focus::Histogram);
    let values: Vec<_> = model.histogram.bars().iter().map(|bar| bar.value.clone()).collect();
    let changes = [Change::Growing, Change::Returned, Change::Fading, Change::Steady, Change::New];
    let all = values.into_iter().zip(changes.into_iter().cycle());
    let bars = all.chain([(Some("Redis::TimeoutError".into()), Change::Gone)]).map(|(value, change)| ComparedBar {
        value,
        before: 1,
        after: 1,
        change,
        example: None,
    });
    let mark =
        NamedMoment { name: MarkName::parse("v2.3.1").expect("a name"), at: NOW.before(Duration::from_secs(3_600)) };
    let mut compared = MarkBars::new(mark.name.clone());
    let (by, bars) = (counted_by(&model.histogram), bars.collect());
    compared.take(MarkComparison { mark, as_of: NOW, filter: Filter::all(), by, bars }, NOW);
    compare_with(&mut model.histogram, Some(compared));
    model
}

#[test]
fn bars_against_a_mark_have_a_word_that_cuts_no_count() {
    golden("against_mark", against_mark);
    for size in [(40, 12), (60, 20), (80, 24), (140, 45)] {
        let frame = frame(&against_mark(size));
        let counts =
            against_mark(size).histogram.bars().iter().take(3).map(|bar| bar.count.to_string()).collect::<Vec<_>>();
        assert!(counts.iter().all(|count| frame.contains(count)), "{counts:?}\n{frame}");
        assert!(["growing", "returned", "fading"].iter().all(|word| frame.contains(word)), "{frame}");
    }
}

#[test]
fn a_nasty_night() {
    golden("nasty_list", fixture::nasty);
    golden("nasty_histogram", |size| fixture::focused(fixture::nasty(size), Focus::Histogram));
    golden("nasty_detail", |size| fixture::focused(fixture::nasty(size), Focus::Detail));
}

#[test]
fn where_there_is_nothing_the_next_step_is_said() {
    golden("empty", fixture::empty);
    golden("empty_filtered", |size| {
        let mut model = fixture::empty(size);
        model.filter.set(Filter::parse("error:Nope").expect("a filter"), NOW);
        model
    });
}

#[test]
fn a_plan_shows_number_place_split_and_what_confirms() {
    golden("plan_number", |size| plan(size, Confirm::TypeCount));
    golden("plan_yes", |size| plan(size, Confirm::Yes));
}

#[test]
fn a_plan_of_a_repair_shows_what_becomes_of_the_arguments() {
    golden("plan_repair", |size| {
        let mut model = plan(size, Confirm::TypeCount);
        if let Overlay::Plan(dialog) = &mut model.overlay {
            dialog.plan.action = Action::Repair;
            dialog.plan.options = Options { repair: Some(".currency //= \"EUR\"".into()), ..Options::default() };
            dialog.plan.breakdown.by_change = Some(fixture::repair());
        }
        model
    });
}

#[test]
fn a_plan_says_what_is_created_for_it_and_what_was_asked_for() {
    golden("plan_archive", |size| {
        let mut model = plan(size, Confirm::Yes);
        if let Overlay::Plan(dialog) = &mut model.overlay {
            let creates = "public.dead_letter_jobs_archive".to_owned();
            dialog.plan.creates = Some(Preparation { creates, ddl: String::new() });
            dialog.plan.action = Action::Archive;
            dialog.plan.options = Pacing { rate: Some(200.0), ..Pacing::default() }.into();
        }
        model
    });
}

#[test]
fn edited_arguments_show_what_changes_or_what_is_wrong() {
    let page = |typed: fn(&str) -> String| {
        let arguments =
            r#"{"user":{"id":12345678901234567890,"token":"abc"},"currency":null,"items":[{"sku":"A-1"}],"old":1}"#;
        let arguments = EditableArguments::new(arguments, Arc::default()).expect("JSON");
        let mut page = EditPage::new(JobId::new("10442"), arguments);
        page.take(typed(&page.typed));
        Overlay::Edit(Box::new(page))
    };
    let changed = |text: &str| {
        let text = text.replace("null", "\"EUR\"").replace("\"A-1\"", "\"A-1\", \"tags\": [\n\"x\",\n\"y\"]");
        text.replace(",\n  \"old\": 1", "")
    };
    golden("edited", |size| over(fixture::night(size), page(changed)));
    golden("edited_not_json", |size| over(fixture::night(size), page(|text| text.replace("null", "EUR"))));
}

#[test]
fn a_cohort_is_frozen_in_view() {
    let progress = FreezeProgress { frozen: 41_000, examined: 98_000, share: 0.41 };
    golden("freezing", |size| over(fixture::night(size), Overlay::Freezing(Some(progress))));
}

#[test]
fn a_run_from_gauge_to_receipt() {
    let going = |size| {
        let mut model = fixture::night(size);
        model.runner.going = Some(fixture::progress());
        model.runner.action = Some(crate::domain::action::Action::Replay);
        model
    };
    golden("run_gauge", |size| over(going(size), Overlay::Run));
    golden("run_hidden", going);
    golden("run_waits", |size| {
        let mut model = over(going(size), Overlay::Run);
        let error = "locked by another session: canceling statement due to lock timeout; trying again";
        model.runner.going.as_mut().expect("a run").waiting = Some(error.into());
        model
    });
    golden("run_leave", |size| over(going(size), Overlay::Leave));
    golden("run_resume", |size| {
        let page = RunsPage::new(vec![fixture::run()]);
        over(fixture::night(size), Overlay::Resume(ResumeDialog { page, ..ResumeDialog::default() }))
    });
    golden("run_resume_gate", |size| {
        let mut run = fixture::run();
        run.intent.options.rollout = Rollout::new(Some(20), None, false, None);
        let mut state = RolloutState { phase: RolloutPhase::Gate, ..RolloutState::starting(20) };
        state.evidence.succeeded = 12;
        state.evidence.add(&ReplayOutcome::DiedAgain(Some("KeyError".into())));
        run.rollout = Some(state);
        run.state = RunState::Stopped;
        let page = RunsPage::new(vec![run]);
        over(fixture::night(size), Overlay::Resume(ResumeDialog { page, ..ResumeDialog::default() }))
    });
    golden("receipt", |size| {
        over(fixture::night(size), Overlay::Receipt(Box::new(fixture::run()), ScrollState::default()))
    });
    golden("receipt_stopped_by_rule", |size| {
        let mut run = fixture::run();
        run.intent.options.rollout = Rollout::new(Some(20), None, false, None);
        let mut state = RolloutState { phase: RolloutPhase::Stopped, ..RolloutState::starting(20) };
        state.evidence.succeeded = 18;
        for _ in 0..2 {
            state.evidence.add(&ReplayOutcome::DiedAgain(Some("KeyError".into())));
        }
        run.rollout = Some(state);
        run.state = RunState::Stopped;
        over(fixture::night(size), Overlay::Receipt(Box::new(run), ScrollState::default()))
    });
    golden("runs", |size| {
        let earlier = |n: u32| {
            let mut run = crate::ledger::Run { id: RunId(format!("r-20261120-03120{n}-7kq")), ..fixture::run() };
            if n == 3 {
                run.intent.source = "staging".into();
            }
            run
        };
        over(fixture::night(size), Overlay::Runs(RunsPage::new((1..8).rev().map(earlier).collect())))
    });
}

#[test]
fn what_became_of_a_replay_stands_beside_the_filter() {
    let followed = |size, filter: &str| {
        let mut model = fixture::night(size);
        model.filter.set(Filter::parse(filter).expect("a filter"), NOW);
        let mut followed = FollowedReplay::new(&fixture::run(), NOW);
        (followed.replayed, followed.outcomes) = (10, Some(OutcomeCounts::default()));
        if let Some(counts) = &mut followed.outcomes {
            (counts.replayed, counts.succeeded, counts.died_other) = (10, 6, 4);
            let classes = [("KeyError", 2), ("TypeError", 1), ("ValueError", 1)];
            counts.died_by_class = classes.map(|(class, n)| (Some(class.to_owned()), n)).into();
        }
        model.runner.followed = Some(followed);
        model
    };
    golden("followed", |size| followed(size, ""));
    golden("followed_filtered", |size| followed(size, "error:Stripe::CardError class:Billing* since:2h"));
}

#[test]
fn a_comparison_while_it_reads_and_when_it_has() {
    golden("contrast", |size| over(fixture::night(size), fixture::contrast("args.currency = \"JPY\"", 0)));
    golden("contrast_reading", |size| {
        let chosen = Filter::parse("error:Stripe::CardError").expect("a filter");
        let page = ContrastPage { chosen, reading: Some(12_500), ..ContrastPage::default() };
        over(fixture::night(size), Overlay::Contrast(Box::new(page)))
    });
}

#[test]
fn a_line_that_is_typed_points_at_its_fault_and_offers_what_fits() {
    golden("line_fault", |size| typed(fixture::night(size), "/error:Net::* attempts:many"));
    golden("line_values", |size| typed(fixture::night(size), "/error:"));
    golden("line_chosen", |size| typed(fixture::night(size), "/error:t\t\t"));
    golden("line_command", |size| typed(fixture::night(size), ":re"));
    golden("line_long", |size| typed(fixture::night(size), &format!("/msg:\"{}end", "日本 ".repeat(60))));
}

#[test]
fn pages_and_choices() {
    let help = |top, words: &str| HelpPage {
        reading: ScrollState { top },
        search: tui_input::Input::new(words.into()),
        ..HelpPage::new(KeyContext::List)
    };
    golden("help", |size| over(fixture::night(size), Overlay::Help(help(0, ""))));
    golden("help_end", |size| over(fixture::night(size), Overlay::Help(help(10_000, ""))));
    golden("help_search", |size| over(fixture::night(size), Overlay::Help(help(0, "undo run"))));
    golden("shell", |size| typed(fixture::night(size), "c"));
    let choice = |name: &str| StoreChoice { name: name.into(), title: format!("layout of {name}") };
    golden("picker", |size| {
        let choices = vec![choice("dead_letter_jobs"), choice("billing.jobs_dlq")];
        over(fixture::night(size), Overlay::Picker(Picker { choices, at: 1 }))
    });
}

#[test]
fn a_job_that_came_back_says_how_often_it_was_replayed() {
    let mut model = fixture::focused(fixture::night((120, 40)), Focus::Detail);
    assert!(!frame(&model).contains("replayed once"));
    let document = model.detail.document.take().and_then(Arc::into_inner).expect("a job of nobody else's");
    model.detail.document = Some(Arc::new(document.with_replays(1)));
    assert!(frame(&model).contains("replayed once before"), "{}", frame(&model));
}

#[test]
fn a_long_sentence_is_read_whole() {
    golden("notice", |size| {
        let mut model = fixture::night(size);
        model.complain("counting: the statement was cancelled after 5s; the counts that are shown are as old as they say, and r counts again", NOW);
        model
    });
}

#[test]
fn a_terminal_that_is_too_small_is_told_what_is_needed() {
    let text = frame(&fixture::night((30, 8)));
    assert!(text.contains("40x10"), "{text}");
    assert_eq!(frame(&fixture::night((1, 1))), "1\n");
}
