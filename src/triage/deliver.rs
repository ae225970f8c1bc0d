//! A command of the operator's as the destination of replayed jobs: one JSON line per job in, one per job back.

mod request;
mod response;

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, FusedFuture};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::Instant;

use self::request::DeliveryRequest;
use self::response::{DeliveryAnswers, Tail};
use crate::domain::job::JobId;
use crate::store::{Deliver, Message};

/// How long a command that closed its output too soon, or was killed, may take to end.
const GRACE: Duration = Duration::from_secs(2);

/// Starts a command once per batch, without a shell, and takes from its output which jobs it accepted.
///
/// In: one JSON text per line and job, which has the dead job's `id` first where the message has none. Out: `{"id":…,"ok":true}` or `{"id":…,"ok":false,"error":"…"}`; lines that are no
/// JSON object with an `id` are its own talk. A job that is not answered for is refused with the exit status and the
/// end of what the command wrote to its standard error.
#[derive(Clone, Debug)]
pub struct CommandDestination {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// How long the command may go without answering for a job before it is killed with all that it started; also how
    /// long it may take to end after its last answer.
    pub timeout: Duration,
}

impl Deliver for CommandDestination {
    fn deliver(&self, batch: Vec<Message>) -> BoxFuture<'_, Vec<(JobId, Result<(), String>)>> {
        self.ask(batch).map(|answers| answers.into_iter().map(|a| (a.id, a.result)).collect()).boxed()
    }
}

/// What a command said of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The job.
    pub id: JobId,
    /// Accepted, or not and why.
    pub result: Result<(), String>,
    /// Whether the command said so; else it gave no answer for this job.
    pub heard: bool,
}

/// Why a job was not handed over that no answer could be told to be for.
const DUPLICATE_ID: &str = "another job of this batch has the same id in its message: replay this one by itself";

/// What the command said of each job, and what to say of those that it did not answer for.
type Delivered = (Vec<Option<Result<(), String>>>, String);

impl CommandDestination {
    /// Starts the command for a batch, and says what it answered for each job.
    pub async fn ask(&self, batch: Vec<Message>) -> Vec<Answered> {
        let (lines, duplicates) = request::unique_keys(&batch);
        let (answers, reason) = match self.run(&lines).await {
            Ok(done) => done,
            Err(reason) => (vec![None; lines.len()], reason),
        };
        let mut answers = answers.into_iter();
        let answer = |(message, is_duplicate): (Message, bool)| {
            let told = if is_duplicate { Some(Err(DUPLICATE_ID.to_owned())) } else { answers.next().flatten() };
            let heard = told.is_some();
            Answered { id: message.id, result: told.unwrap_or_else(|| Err(reason.clone())), heard }
        };
        batch.into_iter().zip(duplicates).map(answer).collect()
    }

    async fn run(&self, batch: &[DeliveryRequest]) -> Result<Delivered, String> {
        let name = self.argv.first().cloned().unwrap_or_default();
        let mut child = self.start().map_err(|e| format!("cannot start `{name}`: {e}"))?;
        let mut group = Group(child.id());
        let mut talk = Talk { answers: DeliveryAnswers::to(batch), tail: Tail::default(), hung: false };
        let status = self.talk(&mut child, batch, &mut talk).await;
        if status.is_some() {
            group.0 = None;
        }
        drop(group);
        // Reaps it; after the kill this does not wait.
        let _ = tokio::time::timeout(GRACE, child.wait()).await;
        let reason = self.reason(&name, &talk, status);
        Ok((talk.answers.into_answers(), reason))
    }

    fn start(&self) -> std::io::Result<Child> {
        let (program, arguments) = self
            .argv
            .split_first()
            .ok_or_else(|| std::io::Error::new(std::io::ErrorKind::InvalidInput, "the command is empty"))?;
        Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
    }

    /// Writes jobs and reads answers at the same time, so that neither side waits for a full pipe of the other. Returns
    /// how the command ended, if it did so by itself.
    async fn talk(&self, child: &mut Child, batch: &[DeliveryRequest], talk: &mut Talk) -> Option<ExitStatus> {
        let (Some(stdin), Some(mut stdout), Some(mut stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return None;
        };
        let mut feeding = std::pin::pin!(feed(stdin, batch).fuse());
        let (mut out, mut err) = (vec![0; 16 * 1024], vec![0; 4 * 1024]);
        let (mut fed, mut err_open) = (false, true);
        let mut deadline = Instant::now() + self.timeout;
        while talk.answers.len() < batch.len() {
            tokio::select! {
                () = &mut feeding, if !fed => fed = true,
                read = stdout.read(&mut out) => match read {
                    Ok(n) if n > 0 => {
                        let before = talk.answers.len();
                        talk.answers.take(out.get(..n).unwrap_or_default());
                        if talk.answers.len() > before {
                            deadline = Instant::now() + self.timeout;
                        }
                    }
                    _ => break,
                },
                read = stderr.read(&mut err), if err_open => match read {
                    Ok(n) if n > 0 => talk.tail.take(err.get(..n).unwrap_or_default()),
                    _ => err_open = false,
                },
                () = tokio::time::sleep_until(deadline) => {
                    talk.hung = true;
                    talk.answers.end();
                    return None;
                }
            }
        }
        talk.answers.end();
        // Whoever answered for every job may still have to bring home what it accepted, and may say so: that must not
        // fail for a pipe that is full or closed. Whoever cannot answer any more gets no more jobs either.
        let all = talk.answers.len() == batch.len();
        let patience = if all { self.timeout.max(GRACE) } else { GRACE };
        let feeding = async {
            if all && !fed {
                feeding.await;
            }
        };
        let rest = async { tokio::join!(feeding, drain(stdout, |_| {}), drain(stderr, |said| talk.tail.take(said))) };
        see_off(child, rest, patience).await
    }

    fn reason(&self, name: &str, talk: &Talk, status: Option<ExitStatus>) -> String {
        let how = match status {
            _ if talk.hung => format!("`{name}` gave no answer for {:?} and was stopped", self.timeout),
            Some(status) => format!("`{name}` ended ({status}) without answering for this job"),
            None => format!("`{name}` closed its output without answering for this job and was stopped"),
        };
        match talk.tail.text() {
            said if said.is_empty() => how,
            said => format!("{how}: {said}"),
        }
    }
}

/// Waits for the end of a command while the rest of what is to pass between us does, for no longer than `patience`.
async fn see_off<T>(child: &mut Child, rest: impl Future<Output = T>, patience: Duration) -> Option<ExitStatus> {
    let mut rest = std::pin::pin!(rest.fuse());
    let ended = async {
        tokio::select! {
            status = child.wait() => status,
            _ = &mut rest => child.wait().await,
        }
    };
    let status = tokio::time::timeout(patience, ended).await.ok()?.ok();
    if !rest.is_terminated() {
        // Its last words; a process that it left behind may hold the pipe for as long as it likes.
        let _ = tokio::time::timeout(GRACE, rest).await;
    }
    status
}

/// Reads to the end.
async fn drain(mut pipe: impl AsyncRead + Unpin, mut take: impl FnMut(&[u8])) {
    let mut bytes = vec![0; 16 * 1024];
    while let Ok(n) = pipe.read(&mut bytes).await {
        if n == 0 {
            return;
        }
        take(bytes.get(..n).unwrap_or_default());
    }
}

/// What passed between us and the command.
struct Talk {
    answers: DeliveryAnswers,
    tail: Tail,
    hung: bool,
}

/// Writes every job and closes the pipe. A command that stops reading is found out by what it does not answer.
async fn feed(mut stdin: ChildStdin, batch: &[DeliveryRequest]) {
    for line in batch {
        if stdin.write_all(line.text.as_bytes()).await.is_err() {
            return;
        }
    }
    let _ = stdin.shutdown().await;
}

/// The process group of a command that runs: killed when dropped, with all that the command started.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        let Some(leader) = self.0 else { return };
        // Safe Rust has no call for a group; every system with a shell has this one. No text of a job is in it.
        let _ = std::process::Command::new("/bin/sh")
            .args(["-c", "kill -s KILL -- \"-$1\" 2>/dev/null", "kill", &leader.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
}

#[cfg(test)]
mod tests;
