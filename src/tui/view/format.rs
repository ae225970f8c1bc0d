//! Numbers, times and shares in the form that screens show them.

use std::time::Duration;

use crate::domain::histogram::{Count, Exactness, grouped};
use crate::domain::job::JobRow;
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::domain::time::zone::Zone;
use crate::tui::theme::Theme;

/// Characters of a value that are prepared for a screen.
const HEAD: usize = 400;

/// A count with its mark: `1,204`, `~1,204`, `≥1,204`.
pub fn count(count: Count, theme: &Theme) -> String {
    match count.exactness {
        Exactness::AtLeast => format!("{}{}", theme.glyphs.at_least, grouped(count.n)),
        _ => count.to_string(),
    }
}

/// A count in at most five columns, for running text: `987`, `12.3k`, `1.2M`.
pub fn short_count(n: u64) -> String {
    match n {
        0..=9_999 => n.to_string(),
        10_000..=999_949 => format!("{:.1}k", n as f64 / 1e3),
        _ => format!("{:.1}M", n as f64 / 1e6),
    }
}

/// A share of a whole, rounded: `83 %`, `<1 %`, and 100 only for the whole.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return String::new();
    }
    let (part, whole) = (u128::from(part), u128::from(whole));
    let rounded = (part * 200 + whole) / (whole * 2);
    let share = if part < whole { rounded.min(99) } else { rounded };
    if share == 0 && part > 0 { "<1 %".into() } else { format!("{share} %") }
}

/// A share between 0 and 1 as whole percent, never 100 before the end.
pub fn progress(share: f32) -> String {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let percent = (share * 100.0).floor() as u32;
    format!("{} %", if share < 1.0 { percent.min(99) } else { 100 })
}

/// An age in at most four columns: `9s`, `4m`, `2h`, `3d`, `12w`, `3y`.
pub fn age(at: Timestamp, now: Timestamp) -> String {
    let s = at.age(now).as_secs();
    match s {
        0..=59 => format!("{s}s"),
        60..=3_599 => format!("{}m", s / 60),
        3_600..=86_399 => format!("{}h", s / 3_600),
        86_400..=1_209_599 => format!("{}d", s / 86_400),
        1_209_600..=31_535_999 => format!("{}w", s / 604_800),
        _ => format!("{}y", s / 31_536_000),
    }
}

/// Columns of a moment where there is little room.
pub const MOMENT: usize = 9;

/// Columns of a moment with its date.
pub const DATED: usize = 11;

/// A time of death as a column of [`MOMENT`] or [`DATED`] shows it: the time of day today, with the date before that, or with
/// the day of the week where there is no room for one.
pub fn moment(at: Option<Timestamp>, now: Timestamp, width: usize, zone: Zone) -> String {
    let Some(at) = at else { return "-".into() };
    let Some(calendar) = zone.calendar(at) else { return "?".into() };
    let today = zone.calendar(now).map(|now| now.date_naive());
    let far = at.0.abs_diff(now.0) / 1_000_000;
    let format = match (far, width >= DATED) {
        _ if today == Some(calendar.date_naive()) => "%H:%M:%S",
        (0..518_400, false) => "%a %H:%M",
        (0..26_000_000, true) => "%m-%d %H:%M",
        (0..26_000_000, false) => "%b %d",
        (_, true) => "%Y-%m-%d",
        (_, false) => "%Y-%m",
    };
    calendar.format(format).to_string()
}

/// A heading of a column of moments: `time UTC`. The clocks are not named that have changed within the column.
pub fn moment_title(
    word: &str,
    width: usize,
    mut moments: impl Iterator<Item = Timestamp>,
    now: Timestamp,
    zone: Zone,
) -> String {
    let name = zone.short_name(now);
    let is_one = zone == Zone::UTC || moments.all(|at| zone.short_name(at) == name);
    let title = format!("{word} {name}");
    if is_one && title.len() <= width { title } else { word.to_owned() }
}

/// A time of day in running text: `14:03`, with its date where that is not today.
pub fn clock(at: Timestamp, now: Timestamp, zone: Zone) -> String {
    let Some(calendar) = zone.calendar(at) else { return "?".into() };
    let is_today = zone.calendar(now).is_some_and(|now| now.date_naive() == calendar.date_naive());
    calendar.format(if is_today { "%H:%M" } else { "%b %d %H:%M" }).to_string()
}

/// An instant in full: `2026-11-20 03:12:09Z`, or with what the clocks of the zone are called.
pub fn instant(at: Timestamp, zone: Zone) -> String {
    match zone.calendar(at).filter(|_| zone != Zone::UTC) {
        Some(calendar) => calendar.format("%Y-%m-%d %H:%M:%S %Z").to_string(),
        None => at.to_string(),
    }
}

/// How often something happens: `500ms`, `1s`, `2m`.
pub fn interval(span: Duration) -> String {
    match span.as_millis() {
        ms @ 0..1_000 => format!("{ms}ms"),
        ms @ 1_000..3_000 if ms % 1_000 >= 100 => format!("{:.1}s", ms as f64 / 1e3),
        _ => crate::domain::time::short_span(span),
    }
}

/// `4m ago`, or `in 2h` where clocks disagree.
pub fn ago(at: Timestamp, now: Timestamp) -> String {
    if at > now { format!("in {}", age(now, at)) } else { format!("{} ago", age(at, now)) }
}

/// A span with seconds where they matter: `48s`, `12m05s`, `2h05m`.
pub fn span(span: Duration) -> String {
    let s = span.as_secs();
    match s {
        60..=3_599 => format!("{}m{:02}s", s / 60, s % 60),
        _ => crate::domain::time::short_span(span),
    }
}

/// What a bar or a split stands for; a missing value and an empty one differ.
pub fn value(value: Option<&Untrusted>) -> String {
    match value {
        None => "(none)".into(),
        Some(text) => match &*text.line_head(HEAD) {
            "" => "\"\"".into(),
            text => text.to_owned(),
        },
    }
}

/// A field of a job, or a dash.
pub fn field(value: Option<&Untrusted>) -> String {
    value.map_or_else(|| "-".into(), |text| text.line_head(HEAD).to_string())
}

/// `3/25`, `3`, or a dash.
pub fn attempts(row: &JobRow) -> String {
    match (row.attempts, row.max_attempts) {
        (Some(made), Some(most)) => format!("{made}/{most}"),
        (Some(made), None) => made.to_string(),
        (None, _) => "-".into(),
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use super::*;

    #[test]
    fn a_share_is_rounded_and_only_the_whole_is_all_of_it() {
        let shares = [(0, 3), (1, 3), (2, 3), (3, 3), (1, 200), (1, 201), (995, 1_000), (1, 0)];
        let shown = shares.map(|(part, whole)| percent(part, whole));
        assert_eq!(shown, ["0 %", "33 %", "67 %", "100 %", "1 %", "<1 %", "99 %", ""]);
        assert_eq!(percent(u64::MAX, u64::MAX), "100 %");
    }

    #[test]
    fn a_time_of_day_without_a_day_is_todays() {
        let at = |text: &str| Timestamp(text.parse::<DateTime<Utc>>().expect("a time").timestamp_micros());
        let now = at("2026-11-20T00:10:00Z");
        let narrow = |text: &str| moment(Some(at(text)), now, MOMENT, Zone::UTC);
        assert_eq!(narrow("2026-11-20T00:09:58Z"), "00:09:58");
        assert_eq!(narrow("2026-11-19T23:58:00Z"), "Thu 23:58");
        assert_eq!(narrow("2026-11-13T23:58:00Z"), "Nov 13");
        assert_eq!(narrow("2024-11-13T23:58:00Z"), "2024-11");
        let dated = |zone| moment(Some(at("2026-11-19T23:58:00Z")), now, DATED, zone);
        assert_eq!(dated(Zone::UTC), "11-19 23:58");
        let berlin = Zone::parse("Europe/Berlin").expect("a zone");
        assert_eq!(dated(berlin), "00:58:00", "it is today there");
        assert_eq!(instant(now, berlin), "2026-11-20 01:10:00 CET");
        assert_eq!(
            ["time", "a long word"].map(|word| moment_title(word, 9, [now].into_iter(), now, berlin)),
            ["time CET", "a long word"]
        );
        let summer = at("2026-07-01T12:00:00Z");
        assert_eq!(moment_title("time", 9, [now, summer].into_iter(), now, berlin), "time");
    }
}
