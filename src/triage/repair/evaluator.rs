//! Evaluating an expression over many texts. Nothing can interrupt the language from within a process, so it runs in a child
//! that is killed when it takes too long; a child serves many texts.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader, BufWriter};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::protocol::{EvaluationLimits, from_answer, from_refusal, length_of};
use super::worker::WORKER_ARGUMENT;
use crate::domain::repair::{Evaluation, ExpressionError};

/// How long a child may take to start, on a machine that is busy.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Why nothing can be evaluated.
#[derive(Debug, Error)]
pub enum EvaluatorError {
    /// It is no expression.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    /// The child process does not start.
    #[error("the process that evaluates the expression cannot be started: {0}")]
    Start(io::Error),
    /// It was stopped on too many texts.
    #[error(
        "the expression was stopped on {0} jobs because it used too much time or memory; nothing more was evaluated. Try it on \
         fewer jobs, or write it in another way"
    )]
    GaveUp(u32),
}

/// How an expression is evaluated.
#[derive(Clone, Debug)]
pub struct EvaluatorOptions {
    /// This program, as a file.
    pub program: PathBuf,
    /// How long one text may take.
    pub timeout: Duration,
    /// Texts on which it may be stopped before all is given up: each costs what one text may take.
    pub max_stopped: u32,
    /// What a child may use.
    pub limits: EvaluationLimits,
}

impl EvaluatorOptions {
    /// The usual ones.
    ///
    /// # Errors
    /// When the system does not tell where this program is.
    pub fn new() -> io::Result<Self> {
        // The file may have been replaced since the program started; its process knows the one that it was started from.
        let own = PathBuf::from("/proc/self/exe");
        let program = if own.exists() { own } else { std::env::current_exe()? };
        Ok(Self { program, timeout: Duration::from_secs(5), max_stopped: 20, limits: EvaluationLimits::default() })
    }
}

/// Evaluates one expression.
pub struct Evaluator {
    code: String,
    options: EvaluatorOptions,
    child: Option<EvaluatorChild>,
    /// Texts on which it was stopped so far.
    stopped: u32,
}

/// How a child failed on a text.
enum ChildFailure {
    /// It gave no answer in time.
    Late,
    /// It ended.
    Ended,
}

impl Evaluator {
    /// Starts a child and has it check the expression.
    ///
    /// # Errors
    /// When it is no expression, or no child starts.
    pub async fn start(code: &str, options: EvaluatorOptions) -> Result<Self, EvaluatorError> {
        let mut evaluator = Self { code: code.to_owned(), options, child: None, stopped: 0 };
        evaluator.child = Some(evaluator.start_child().await?);
        Ok(evaluator)
    }

    /// What becomes of each text, in their order. A text on which a child dies or takes too long is a failure, and another
    /// child goes on behind it.
    ///
    /// # Errors
    /// When no child starts any more, or too many texts have failed in this way.
    pub async fn evaluate(&mut self, texts: &[&str]) -> Result<Vec<Evaluation>, EvaluatorError> {
        let mut done = Vec::with_capacity(texts.len());
        while done.len() < texts.len() {
            let (mut child, is_fresh) = match self.child.take() {
                Some(child) => (child, false),
                None => (self.start_child().await?, true),
            };
            let before = done.len();
            match child.answer(&texts[before..], self.options.timeout, self.options.limits, &mut done).await {
                Ok(()) => self.child = Some(child),
                Err(failure) => {
                    // A child that has served other texts may have used up its processor time on them.
                    if is_fresh && done.len() == before || matches!(failure, ChildFailure::Late) {
                        done.push(Evaluation::Failed(self.reason(&failure)));
                        self.stopped += 1;
                    }
                    if self.stopped >= self.options.max_stopped {
                        return Err(EvaluatorError::GaveUp(self.stopped));
                    }
                }
            }
        }
        Ok(done)
    }

    fn reason(&self, failure: &ChildFailure) -> String {
        match failure {
            ChildFailure::Late => format!("it took longer than {:?} and was stopped", self.options.timeout),
            ChildFailure::Ended => "it used too much memory or processor time and was stopped".to_owned(),
        }
    }

    async fn start_child(&self) -> Result<EvaluatorChild, EvaluatorError> {
        let mut child = EvaluatorChild::spawn(&self.options).map_err(EvaluatorError::Start)?;
        let refusal = match timeout(START_TIMEOUT, child.set_up(&self.code, self.options.limits)).await {
            Ok(refusal) => refusal.map_err(EvaluatorError::Start)?,
            Err(_) => return Err(EvaluatorError::Start(io::ErrorKind::TimedOut.into())),
        };
        match from_refusal(&refusal) {
            Some(error) => Err(error.into()),
            None => Ok(child),
        }
    }
}

/// A child that runs, killed when dropped.
struct EvaluatorChild {
    _process: Child,
    input: BufWriter<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl EvaluatorChild {
    fn spawn(options: &EvaluatorOptions) -> io::Result<Self> {
        let mut process = Command::new(&options.program)
            .arg(WORKER_ARGUMENT)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // What the terminal sends to this program is not for it.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let pipes = process.stdin.take().zip(process.stdout.take());
        let (input, output) = pipes.ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { _process: process, input: BufWriter::new(input), output: BufReader::new(output) })
    }

    async fn set_up(&mut self, code: &str, limits: EvaluationLimits) -> io::Result<Vec<u8>> {
        write(&mut self.input, &limits.to_bytes()).await?;
        write(&mut self.input, code.as_bytes()).await?;
        self.input.flush().await?;
        read(&mut self.output, limits.answer_length()).await
    }

    /// Writes texts and reads answers at the same time, so that neither side waits for a full pipe of the other.
    async fn answer(
        &mut self,
        texts: &[&str],
        patience: Duration,
        limits: EvaluationLimits,
        done: &mut Vec<Evaluation>,
    ) -> Result<(), ChildFailure> {
        let Self { input, output, .. } = self;
        let feed = async {
            for text in texts {
                write(input, text.as_bytes()).await?;
            }
            input.flush().await
        };
        let answers = async {
            for _ in texts {
                let answer = timeout(patience, read(output, limits.answer_length())).await;
                let answer = answer.map_err(|_| ChildFailure::Late)?.map_err(|_| ChildFailure::Ended)?;
                done.push(from_answer(&answer).ok_or(ChildFailure::Ended)?);
            }
            Ok(())
        };
        let feed = async {
            // A child that takes no more is found out by what it does not answer.
            let _ = feed.await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            answered = answers => answered,
            () = feed => Ok(()),
        }
    }
}

async fn write(output: &mut BufWriter<ChildStdin>, frame: &[u8]) -> io::Result<()> {
    output.write_all(&length_of(frame)).await?;
    output.write_all(frame).await
}

async fn read(input: &mut BufReader<ChildStdout>, longest: u64) -> io::Result<Vec<u8>> {
    let length = input.read_u32_le().await?;
    if u64::from(length) > longest {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut frame = vec![0; length as usize];
    input.read_exact(&mut frame).await?;
    Ok(frame)
}
