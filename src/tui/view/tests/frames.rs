//! Golden frames.

use super::fixture::{self, NOW};
use super::{SIZES, frame};
use crate::triage::plan::Confirm;
use crate::tui::app::model::{Focus, Model, Overlay, PlanDialog, Reading};

/// Compares a frame at each size with the one that was kept.
fn golden(name: &str, model: impl Fn((u16, u16)) -> Model) {
    for (width, height) in SIZES {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../snapshots");
        settings.set_prepend_module_to_snapshot(false);
        settings.bind(|| insta::assert_snapshot!(format!("{name}_{width}x{height}"), frame(&model((width, height)))));
    }
}

fn over(mut model: Model, overlay: Overlay) -> Model {
    model.overlay = overlay;
    model
}

fn plan(size: (u16, u16), confirm: Confirm) -> Model {
    let dialog = PlanDialog {
        plan: fixture::plan(confirm),
        typed: tui_input::Input::new("60,3".into()),
        opened: NOW,
        top: 0,
        complaint: None,
    };
    over(fixture::night(size), Overlay::Plan(Box::new(dialog)))
}

#[test]
fn a_believable_night() {
    golden("night_list", fixture::night);
    golden("night_histogram", |size| fixture::focused(fixture::night(size), Focus::Histogram));
    golden("night_detail", |size| fixture::focused(fixture::night(size), Focus::Detail));
}

#[test]
fn a_nasty_night() {
    golden("nasty_list", fixture::nasty);
    golden("nasty_detail", |size| fixture::focused(fixture::nasty(size), Focus::Detail));
}

#[test]
fn a_plan_shows_number_place_split_and_what_confirms() {
    golden("plan_number", |size| plan(size, Confirm::TypeCount));
    golden("plan_yes", |size| plan(size, Confirm::Yes));
}

#[test]
fn a_run_from_gauge_to_receipt() {
    let going = |size| {
        let mut model = fixture::night(size);
        model.runner.going = Some(fixture::progress());
        model
    };
    golden("run_gauge", |size| over(going(size), Overlay::Run));
    golden("run_hidden", going);
    golden("run_leave", |size| over(going(size), Overlay::Leave));
    golden("receipt", |size| {
        over(fixture::night(size), Overlay::Receipt(Box::new(fixture::run()), Reading::default()))
    });
    golden("runs", |size| over(fixture::night(size), Overlay::Runs(vec![fixture::run()], Reading::default())));
}

#[test]
fn help_lists_every_place() {
    golden("help", |size| over(fixture::night(size), Overlay::Help(Reading::default())));
}
