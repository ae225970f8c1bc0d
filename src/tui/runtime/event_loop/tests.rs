//! The loop under a paused clock, without a terminal.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Frame;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::time::sleep;

use super::*;

/// Everything that the fakes note, in order.
type Notes = Rc<RefCell<Vec<String>>>;

/// A program that notes what it is told and does what its script says.
struct Scribe {
    notes: Notes,
    script: VecDeque<Vec<Effect>>,
    /// Whether it notes that a frame has arrived.
    watches: bool,
    /// The key with which there is something to see.
    opens_with: Option<char>,
}

impl Program for Scribe {
    fn start(&mut self, _: Timestamp) -> Vec<Effect> {
        Vec::new()
    }

    fn update(&mut self, msg: Msg, _: Timestamp) -> Vec<Effect> {
        let (note, quit) = match &msg {
            Msg::Key(key) => {
                self.opens_with.take_if(|opens| key.code == KeyCode::Char(*opens));
                (format!("key {}", key.code), key.code == KeyCode::Char('q'))
            }
            Msg::Resize { width, height } => (format!("size {width}x{height}"), false),
            other => (format!("{other:?}"), false),
        };
        self.notes.borrow_mut().push(note);
        if quit { vec![Effect::Quit] } else { self.script.pop_front().unwrap_or_default() }
    }

    fn is_opening(&self) -> bool {
        self.opens_with.is_some()
    }

    fn draw(&mut self, _: &mut Frame<'_>, _: Timestamp) {}

    fn shown(&mut self, _: Timestamp) {
        if self.watches {
            self.notes.borrow_mut().push("shown".into());
        }
    }
}

/// A screen that notes its frames and can be stalled.
struct Paper {
    notes: Notes,
    flows: watch::Receiver<bool>,
    /// Takes no further byte from the next frame on.
    jam: Rc<RefCell<Option<watch::Sender<bool>>>>,
}

impl FrameSink for Paper {
    fn is_ready(&self) -> bool {
        *self.flows.borrow()
    }

    async fn ready(&self) -> io::Result<()> {
        let flowing = self.flows.clone().wait_for(|flows| *flows).await.map(|_| ());
        flowing.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn draw<P: Program>(&mut self, _: &mut P, _: Timestamp) -> io::Result<()> {
        self.notes.borrow_mut().push("frame".into());
        if let Some(flows) = self.jam.borrow_mut().take() {
            flows.send_replace(false);
        }
        Ok(())
    }

    fn size(&self) -> io::Result<(u16, u16)> {
        Ok((80, 24))
    }

    fn repaint(&mut self) {
        self.notes.borrow_mut().push("repaint".into());
    }

    fn send(&mut self, bytes: Vec<u8>) {
        self.notes.borrow_mut().push(format!("sent {}", bytes.len()));
    }

    fn mouse(&mut self, taken: bool) {
        self.notes.borrow_mut().push(format!("mouse {taken}"));
    }

    fn leave(&mut self) {
        self.notes.borrow_mut().push("leave".into());
    }

    fn enter(&mut self) -> io::Result<()> {
        self.notes.borrow_mut().push("enter".into());
        Ok(())
    }
}

/// Keys from a channel.
struct Script {
    events: UnboundedReceiver<io::Result<Event>>,
    notes: Notes,
}

impl Input for Script {
    async fn next(&mut self) -> Option<io::Result<Event>> {
        self.events.recv().await
    }

    fn release(&mut self) {
        self.notes.borrow_mut().push("release".into());
    }

    fn resume(&mut self) {
        self.notes.borrow_mut().push("resume".into());
    }
}

struct Outside {
    notes: Notes,
}

impl World for Outside {
    fn carry_out(&mut self, effect: Effect) {
        self.notes.borrow_mut().push(format!("{effect:?}"));
    }

    fn on_fact(&mut self, fact: Fact) -> Option<Msg> {
        match fact {
            Fact::Told(msg) => Some(msg),
            Fact::Answer { .. } | Fact::Bytes(_) => None,
        }
    }

    async fn run_external_program(&mut self, errand: ExternalProgram) -> Msg {
        self.notes.borrow_mut().push(format!("errand {errand:?}"));
        sleep(Duration::from_millis(200)).await;
        Msg::Continued
    }

    fn close(&mut self) {
        self.notes.borrow_mut().push("close".into());
    }
}

/// The hands on the fakes.
struct Hands {
    notes: Notes,
    events: UnboundedSender<io::Result<Event>>,
    facts: UnboundedSender<Fact>,
    signals: UnboundedSender<Signal>,
    flows: watch::Sender<bool>,
    jam: Rc<RefCell<Option<watch::Sender<bool>>>>,
}

impl Hands {
    fn key(&self, c: char) {
        let event = Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE));
        self.events.send(Ok(event)).expect("the loop runs");
    }

    fn resize(&self, width: u16) {
        self.events.send(Ok(Event::Resize(width, 24))).expect("the loop runs");
    }

    /// What was noted since the last time.
    fn notes(&self) -> Vec<String> {
        self.notes.take()
    }
}

type Fake = EventLoop<Scribe, Paper, Script, Outside>;

fn fakes(script: Vec<Vec<Effect>>) -> (Fake, Hands) {
    let notes = Notes::default();
    let (events_in, events) = unbounded_channel();
    let (facts_in, facts) = unbounded_channel();
    let (signals_in, signals) = unbounded_channel();
    let (flows_in, flows) = watch::channel(true);
    let jam = Rc::default();
    let looping = EventLoop::new(
        Scribe { notes: notes.clone(), script: script.into(), watches: false, opens_with: None },
        Paper { notes: notes.clone(), flows, jam: Rc::clone(&jam) },
        Script { events, notes: notes.clone() },
        Outside { notes: notes.clone() },
        Wires { signals, facts },
        || Timestamp(0),
    );
    (looping, Hands { notes, events: events_in, facts: facts_in, signals: signals_in, flows: flows_in, jam })
}

/// Runs the loop beside a script of what happens, and returns why it ended.
async fn play(mut looping: Fake, script: impl Future<Output = ()>) -> Ended {
    let (ended, ()) = tokio::join!(looping.run(), script);
    ended
}

/// Long enough for everything that is under way to settle.
async fn settle() {
    sleep(Duration::from_millis(500)).await;
}

fn frames(notes: &[String]) -> usize {
    notes.iter().filter(|note| *note == "frame").count()
}

#[tokio::test(start_paused = true)]
async fn the_first_frame_comes_at_once_and_nothing_is_drawn_while_nothing_happens() {
    let (looping, hands) = fakes(Vec::new());
    let ended = play(looping, async {
        tokio::task::yield_now().await;
        // It is listened for changes of size before the size is asked for.
        assert_eq!(hands.notes(), ["resume", "size 80x24", "frame"]);
        sleep(Duration::from_secs(3_600)).await;
        assert_eq!(hands.notes(), [] as [&str; 0]);
        hands.key('q');
    });
    assert_eq!(ended.await, Ended::Quit);
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_sizes_is_one_message_and_no_more_frames_than_are_due() {
    let (looping, hands) = fakes(Vec::new());
    play(looping, async {
        settle().await;
        hands.notes();
        for width in 100..160 {
            hands.resize(width);
        }
        settle().await;
        assert_eq!(hands.notes(), ["size 159x24", "frame"]);

        let start = Instant::now();
        for i in 0..1_000 {
            hands.resize(80 + i % 60);
            sleep(Duration::from_millis(2)).await;
        }
        settle().await;
        let drawn = frames(&hands.notes());
        let most = (start.elapsed().as_millis() / FRAME.as_millis()) as usize + 1 + BEFOREHAND as usize;
        assert!((50..=most).contains(&drawn), "{drawn} frames");
        hands.key('q');
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_first_frame_waits_a_moment_for_what_there_is_to_see_and_no_other_does() {
    for (comes, drawn) in [(Duration::from_millis(9), 9), (PATIENCE * 3, PATIENCE.as_millis())] {
        let (mut looping, hands) = fakes(Vec::new());
        looping.program.opens_with = Some('a');
        play(looping, async {
            let start = Instant::now();
            let first = async {
                while frames(&hands.notes()) == 0 {
                    sleep(Duration::from_millis(1)).await;
                }
                start.elapsed().as_millis()
            };
            let opening = async {
                sleep(comes).await;
                hands.key('a');
            };
            let (first, ()) = tokio::join!(first, opening);
            assert!((drawn..=drawn + 2).contains(&first), "{first} ms instead of {drawn}");
            settle().await;
            hands.key('q');
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_right_behind_a_frame_is_drawn_at_once_and_a_flood_of_them_at_its_pace() {
    let (looping, hands) = fakes(Vec::new());
    play(looping, async {
        sleep(FRAME * 10).await;
        hands.notes();
        let start = Instant::now();
        let mut drawn = Vec::new();
        for key in ['a', 'b', 'c', 'd', 'e'] {
            hands.key(key);
            while frames(&hands.notes()) == 0 {
                sleep(Duration::from_millis(1)).await;
            }
            drawn.push(start.elapsed().as_millis());
        }
        // Three right away, each within the millisecond that this looks after; then one by one.
        assert!(drawn[2] <= 3, "{drawn:?}");
        assert!(drawn[3] >= drawn[0] + 11 && drawn[4] >= drawn[3] + 11, "{drawn:?}");
        hands.key('q');
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn keys_typed_between_two_frames_share_a_frame_and_keep_their_order() {
    let (looping, hands) = fakes(Vec::new());
    play(looping, async {
        settle().await;
        hands.notes();
        hands.key('a');
        hands.resize(100);
        hands.key('b');
        settle().await;
        assert_eq!(hands.notes(), ["key a", "size 100x24", "key b", "frame"]);
        hands.key('q');
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_terminal_that_takes_nothing_stops_the_frames_and_not_the_keys() {
    let (looping, hands) = fakes(Vec::new());
    play(looping, async {
        settle().await;
        hands.notes();
        hands.flows.send_replace(false);
        for key in ['a', 'b', 'c'] {
            hands.key(key);
            settle().await;
        }
        assert_eq!(hands.notes(), ["key a", "key b", "key c"]);
        hands.flows.send_replace(true);
        settle().await;
        assert_eq!(hands.notes(), ["frame"]);
        hands.flows.send_replace(false);
        hands.key('q');
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_frame_is_shown_when_the_terminal_has_taken_it_and_not_when_it_is_drawn() {
    let (mut looping, hands) = fakes(Vec::new());
    looping.program.watches = true;
    play(looping, async {
        settle().await;
        assert_eq!(hands.notes(), ["resume", "size 80x24", "frame", "shown"]);
        hands.key('a');
        hands.flows.send_replace(false);
        settle().await;
        hands.key('b');
        settle().await;
        assert_eq!(hands.notes(), ["key a", "key b"]);
        hands.flows.send_replace(true);
        settle().await;
        assert_eq!(hands.notes(), ["frame", "shown"]);
        sleep(FRAME).await;
        hands.jam.replace(Some(hands.flows.clone()));
        hands.key('c');
        settle().await;
        hands.key('d');
        settle().await;
        assert_eq!(hands.notes(), ["key c", "frame", "key d"], "drawn, and not yet on the terminal");
        hands.flows.send_replace(true);
        settle().await;
        assert_eq!(hands.notes().first().map(String::as_str), Some("shown"));
        hands.key('q');
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_wish_to_be_woken_replaces_the_one_before() {
    let wake = |ms: u64| vec![Effect::WakeAt(Timestamp(0).after(Duration::from_millis(ms)))];
    let (looping, hands) = fakes(vec![wake(1_000), wake(5_000)]);
    play(looping, async {
        hands.key('a');
        sleep(Duration::from_millis(4_900)).await;
        assert_eq!(hands.notes(), ["resume", "size 80x24", "frame", "key a", "frame"]);
        sleep(Duration::from_millis(200)).await;
        assert_eq!(hands.notes(), ["Tick", "frame"]);
        sleep(Duration::from_secs(60)).await;
        assert!(hands.notes().is_empty());
        hands.key('q');
    })
    .await;
}

#[test]
fn the_clock_goes_on_from_where_it_was_when_it_is_set_back() {
    thread_local!(static WALL: std::cell::Cell<i64> = const { std::cell::Cell::new(0) });
    let mut clock = Clock::new(|| Timestamp(WALL.get()));
    let told = [5_000, 6_000, 1_000, 2_500, 2_000, 3_000, 9_000].map(|wall| {
        WALL.set(wall);
        clock.now().0
    });
    assert_eq!(told, [5_000, 6_000, 6_000, 7_500, 7_500, 8_500, 14_500]);
}

#[tokio::test(start_paused = true)]
async fn an_errand_has_the_terminal_for_itself_and_the_keys_typed_before_it_are_kept() {
    let (looping, hands) = fakes(vec![Vec::new(), vec![Effect::Suspend]]);
    play(looping, async {
        settle().await;
        hands.notes();
        hands.key('z');
        hands.key('a');
        sleep(Duration::from_millis(100)).await;
        // Meant for whoever has the terminal.
        hands.signals.send(Signal::Interrupt).expect("the loop runs");
        settle().await;
        let notes = hands.notes().join(", ");
        let errand = "release, leave, errand Suspend, enter, resume, repaint, size 80x24, Continued";
        assert_eq!(notes, format!("key z, {errand}, frame, key a, frame"));
        hands.key('q');
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_terminal_that_hangs_up_ends_the_loop_and_the_model_is_told() {
    for error in [true, false] {
        let (looping, hands) = fakes(Vec::new());
        let notes = hands.notes.clone();
        let ended = play(looping, async move {
            settle().await;
            if error {
                hands.events.send(Err(io::ErrorKind::NotConnected.into())).expect("the loop runs");
            }
        });
        assert_eq!(ended.await, Ended::HungUp);
        assert!(notes.borrow().ends_with(&["Terminate".into(), "close".into()]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_to_end_gives_the_model_a_little_time_and_not_for_ever() {
    let (looping, hands) = fakes(Vec::new());
    let start = Instant::now();
    let ended = play(looping, async {
        hands.signals.send(Signal::Terminate).expect("the loop runs");
        hands.flows.send_replace(false);
        sleep(PARTING / 2).await;
        hands.facts.send(Fact::Told(Msg::Said(Ok("stopped".into())))).expect("the loop runs");
        sleep(PARTING * 2).await;
    });
    assert_eq!(ended.await, Ended::Quit);
    assert!(start.elapsed() >= PARTING);
    let notes = hands.notes();
    assert!(notes.contains(&"Terminate".to_owned()) && notes.iter().any(|note| note.contains("stopped")), "{notes:?}");
}
