use proptest::prelude::*;

use super::*;
use crate::domain::json::quote;

fn read(text: &str) -> Backtrace {
    Backtrace::parse(text, &FrameOrigins::default())
}

/// File, line, function, and `L` for a library; notes as their text.
fn brief(entries: impl IntoIterator<Item = BacktraceEntry>) -> Vec<String> {
    let one = |entry: BacktraceEntry| match entry.kind {
        EntryKind::Note => format!("- {}", entry.text.exact()),
        EntryKind::Frame => {
            let place = entry.location.map_or(String::new(), |l| format!("{}:{}", l.file, l.line.unwrap_or(0)));
            let function = entry.function.map_or(String::new(), |f| f.exact().to_owned());
            format!("{}{place} {function}", if entry.library { "L " } else { "" })
        }
    };
    entries.into_iter().map(one).collect()
}

fn original(text: &str) -> Vec<String> {
    brief(read(text).original().to_vec())
}

#[test]
fn ruby_frames_are_read_from_lines_and_from_json_encoded_twice() {
    let lines = [
        "/usr/share/rubygems-integration/all/gems/activejob-6.1/lib/x.rb:48:in `block in perform_now'",
        "app/jobs/charge.rb:69:in `perform'",
        "<internal:kernel>:187:in 'loop'",
        "(eval):11:in `block in run'",
        "bin/worker.rb:3",
    ];
    let expected = [
        "L /usr/share/rubygems-integration/all/gems/activejob-6.1/lib/x.rb:48 block in perform_now",
        "app/jobs/charge.rb:69 perform",
        "L <internal:kernel>:187 loop",
        "L (eval):11 block in run",
        "bin/worker.rb:3 ",
    ];
    let json = format!("[{}]", lines.map(quote).join(","));
    for text in [lines.join("\n"), json.clone(), quote(&json), quote(&lines.join("\n"))] {
        assert_eq!(original(&text), expected);
    }
    let trace = read(&json);
    assert_eq!(trace.application_first()[0].text.exact(), lines[1]);
    assert_eq!(trace.top_application().map(|e| e.text.exact()), Some(lines[1]));
}

#[test]
fn python_keeps_its_code_and_its_chain_and_the_innermost_frame_counts() {
    let text = "Traceback (most recent call last):\n  File \"/srv/app/a.py\", line 1, in outer\n    inner()\n    ~~~~~^^\n  File \"/usr/lib/python3.11/json/x.py\", line 3, in loads\n    y()\nKeyError: 'x'\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"/srv/app/b.py\", line 5, in run\n    go()\n  File \"/srv/app/c.py\", line 7, in go\n    raise X\nmy.Error: declined";
    let trace = read(text);
    assert_eq!(
        trace.original()[1].text.exact(),
        "  File \"/srv/app/a.py\", line 1, in outer\n    inner()\n    ~~~~~^^"
    );
    assert_eq!(trace.top_application().and_then(|e| e.location.clone()).map(|l| l.line), Some(Some(7)));
    let first: Vec<BacktraceEntry> = trace.application_first().into_iter().cloned().collect();
    assert_eq!(
        brief(first),
        [
            "- Traceback (most recent call last):",
            "/srv/app/a.py:1 outer",
            "L /usr/lib/python3.11/json/x.py:3 loads",
            "- KeyError: 'x'",
            "- ",
            "- During handling of the above exception, another exception occurred:",
            "- ",
            "- Traceback (most recent call last):",
            "/srv/app/c.py:7 go",
            "/srv/app/b.py:5 run",
            "- my.Error: declined",
        ]
    );
}

#[test]
fn elixir_packages_tell_libraries_where_a_script_or_the_job_class_tells_the_application() {
    let text = "** (ArgumentError) card declined\nacct=42\n    run.exs:12: MyApp.Charge.perform/1\n    (queue 2.23.1) queue/lib/executor.ex:145: Queue.Executor.perform/1\n    (elixir 1.18.4) lib/task/supervised.ex:101: Task.Supervised.invoke_mfa/2\n";
    assert_eq!(
        original(text),
        [
            "- ** (ArgumentError) card declined",
            "- acct=42",
            "run.exs:12 MyApp.Charge.perform/1",
            "L queue/lib/executor.ex:145 Queue.Executor.perform/1",
            "L lib/task/supervised.ex:101 Task.Supervised.invoke_mfa/2",
        ]
    );
    let released = text.replace("    run.exs", "    (my_app 0.1.0) lib/charge.ex");
    let origins = FrameOrigins::default().with_job_class("MyApp.Workers.Charge");
    let libraries = |trace: Backtrace| trace.original().iter().map(|e| e.library).collect::<Vec<_>>();
    assert_eq!(libraries(Backtrace::parse(&released, &origins)), [false, false, false, true, true]);
    let named = FrameOrigins { library: vec!["queue".into()], ..FrameOrigins::default() };
    assert_eq!(libraries(Backtrace::parse(&released, &named)), [false, false, false, true, true]);
}

#[test]
fn go_functions_are_joined_with_the_place_below_them() {
    let text = "goroutine 1 [running]:\nmain.(*SortWorker).Work\n\t/srv/app/worker/sort.go:41\ngithub.com/q/r.(*u[...]).Work(0x1)\n\t/go/pkg/mod/github.com/q/r@v0.4/u.go:41 +0x1d\ncreated by main.main in goroutine 1\n\t/srv/app/main.go:9 +0x2\nruntime.goexit\n\t/usr/local/go/src/runtime/asm_amd64.s:1700\n";
    assert_eq!(
        original(text),
        [
            "- goroutine 1 [running]:",
            "/srv/app/worker/sort.go:41 main.(*SortWorker).Work",
            "L /go/pkg/mod/github.com/q/r@v0.4/u.go:41 github.com/q/r.(*u[...]).Work(0x1)",
            "/srv/app/main.go:9 main.main",
            "L /usr/local/go/src/runtime/asm_amd64.s:1700 runtime.goexit",
        ]
    );
}

#[test]
fn php_chains_keep_their_order_and_the_last_error_was_thrown() {
    let text = "RuntimeException: inner in /srv/app/a.php:6\nStack trace:\n#0 /srv/app/a.php(8): inner()\n#1 [internal function]: App\\X->y()\n#2 {main}\n\nNext App\\Outer: card in /srv/app/b.php:9\nStack trace:\n#0 /srv/vendor/l/C.php(36): f()\n#1 /srv/app/b.php(3): App\\Jobs\\Charge->handle()\n#2 {main}";
    let lines = original(text);
    assert_eq!(lines[2..5], ["/srv/app/a.php:8 inner()", "L [internal function]:0 App\\X->y()", "- #2 {main}"]);
    assert_eq!(
        read(text).top_application().and_then(|e| e.location.clone()).map(|l| l.file),
        Some("/srv/app/b.php".into())
    );
}

#[test]
fn javascript_and_java_frames_are_told_apart() {
    let js = "TypeError: x\n    at charge (/srv/app/pay.js:10:5)\n    at async Object.<anonymous> (/srv/app/node_modules/q/i.js:1:2)\n    at node:internal/process/task_queues:95:5\n    at /srv/app/m.mjs:3:1";
    assert_eq!(
        original(js)[1..],
        [
            "/srv/app/pay.js:10 charge",
            "L /srv/app/node_modules/q/i.js:1 async Object.<anonymous>",
            "L node:internal/process/task_queues:95 ",
            "/srv/app/m.mjs:3 ",
        ]
    );
    let java = "com.acme.PayException: x\n\tat com.acme.Pay.charge(Pay.java:12)\n\tat org.lib.Run.go(Run.java:3)\n\tat java.base/java.lang.Thread.run(Thread.java:840)\n\tat jdk.proxy2.X.y(Unknown Source)\nCaused by: java.io.IOException: y\n\t... 12 more";
    let origins = FrameOrigins::default().with_job_class("com.acme.jobs.PayJob");
    assert_eq!(
        brief(Backtrace::parse(java, &origins).original().to_vec())[1..],
        [
            "Pay.java:12 com.acme.Pay.charge",
            "L Run.java:3 org.lib.Run.go",
            "L Thread.java:840 java.base/java.lang.Thread.run",
            "L Unknown Source:0 jdk.proxy2.X.y",
            "- Caused by: java.io.IOException: y",
            "- \t... 12 more",
        ]
    );
}

#[test]
fn folders_whose_names_merely_resemble_a_librarys_are_the_applications() {
    let text =
        "main.f()\n\t/srv/app/internal/pay.go:1\nmain.g()\n\t/srv/myvendor/pay.go:2\nmain.h()\n\tvendor/x/pay.go:3";
    let libraries: Vec<bool> = read(text).original().iter().map(|e| e.library).collect();
    assert_eq!(libraries, [false, false, true]);
    let origins = FrameOrigins { application: vec!["vendor/x/".into()], ..FrameOrigins::default() };
    assert!(Backtrace::parse(text, &origins).original().iter().all(BacktraceEntry::is_application));
}

#[test]
fn a_message_before_the_frames_is_kept_as_notes_and_is_taken_for_no_frame() {
    let lines = original("bad row at 12:30\nDETAIL: café: 3\n\n/srv/app/x.rb:3:in `go'");
    assert_eq!(lines, ["- bad row at 12:30", "- DETAIL: café: 3", "- ", "/srv/app/x.rb:3 go"]);
    assert_eq!(original(""), [""; 0]);
    assert_eq!(original("[]"), [""; 0]);
    assert_eq!(original("[{\"a\":1}]"), ["- {\"a\":1}"]);
}

#[test]
fn a_backtrace_of_any_size_keeps_all_its_lines() {
    let text = "x.rb:1:in `a'\n".repeat(MAX_LINES + 5);
    let trace = read(&text);
    assert_eq!(trace.original().len(), MAX_LINES + 1);
    assert_eq!(trace.original()[MAX_LINES].text.exact().lines().count(), 5);
    assert_eq!(original(&"x".repeat(1_000_000)).len(), 1);
}

proptest! {
    #[test]
    fn both_orders_hold_every_line_of_any_text(
        lines in prop::collection::vec(prop::sample::select(vec![
            "Traceback (most recent call last):", "  File \"a.py\", line 1, in f", "    code", "main.f(0x1)", "\t/a/b.go:3", "",
            "#0 /vendor/a.php(3): f()", "Next X: y", "a.rb:1:in `x'", "\tat a.B.c(D.java:1)", "    (p 1.0) a.ex:1: A.b/1", "note",
        ]), 0..12)
    ) {
        let text = lines.join("\n");
        let trace = read(&text);
        let joined: Vec<&str> = trace.original().iter().map(|e| e.text.exact()).collect();
        let whole = joined.join("\n");
        prop_assert_eq!(whole.trim_end(), text.trim_end());
        let mut first: Vec<&str> = trace.application_first().iter().map(|e| e.text.exact()).collect();
        let mut all = joined.clone();
        first.sort_unstable();
        all.sort_unstable();
        prop_assert_eq!(first, all);
    }
}
