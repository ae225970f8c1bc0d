//! Words by which columns and states are known.

/// Names by which a field is known, the surest first.
pub(super) const AT: &[&str] = &[
    "failed_at",
    "dead_at",
    "died_at",
    "discarded_at",
    "expired_at",
    "buried_at",
    "dead_lettered_at",
    "errored_at",
    "failure_time",
    "failed_on",
    "finished_at",
    "finalized_at",
    "last_error_at",
    "last_failed_at",
    "last_attempt_at",
    "occurred_at",
    "moved_at",
    "archived_at",
    "completed_on",
    "completed_at",
    "inserted_at",
    "created_at",
    "created_on",
    "timestamp",
];
pub(super) const TOUCHED: &[&str] = &["updated_at", "modified_at", "changed_at", "updated_on"];
pub(super) const STATE: &[&str] = &["status", "state", "job_status", "job_state", "state_name", "status_name"];
/// How names of states end.
pub(super) const STATE_ENDS: &[&str] = &["_status", "_state"];
/// Names of columns that say yes or no.
pub(super) const FLAGS: &[&str] = &[
    "is_dead",
    "dead",
    "is_failed",
    "has_failed",
    "failed",
    "is_discarded",
    "discarded",
    "is_dead_letter",
    "dead_lettered",
];
/// Parts of names that speak of a state.
pub(super) const STATE_WORDS: &[&str] = &[
    "status", "state", "phase", "stage", "flag", "active", "alive", "live", "enabled", "deleted", "handled", "closed",
    "outcome", "result",
];
/// Members of a JSON document that tell of an error.
pub(super) const MESSAGE_MEMBERS: &[&str] =
    &["message", "msg", "error_message", "error", "reason", "detail", "description"];
pub(super) const CLASS_MEMBERS: &[&str] =
    &["error_class", "exception_class", "class", "exception", "type", "name", "error_type", "kind", "code"];
pub(super) const CLASS: &[&str] =
    &["error_class", "exception_class", "error_type", "exception_type", "error_name", "exception_name"];
pub(super) const MESSAGE: &[&str] = &[
    "error_message",
    "exception_message",
    "error_msg",
    "last_error_message",
    "message",
    "last_error",
    "error_reason",
    "error_text",
    "failure_reason",
    "reason",
    "error",
    "exception",
    "errors",
];
pub(super) const JOB: &[&str] = &[
    "job_class",
    "class_name",
    "job_type",
    "job_name",
    "task_name",
    "task",
    "handler",
    "event_type",
    "worker_class",
    "job_signature",
    "entrypoint",
    "actor",
    "actor_name",
    "task_path",
    "func",
    "func_name",
    "function",
    "function_name",
    "callable",
    "kind",
    "type",
    "class",
    "name",
    "template",
];
pub(super) const QUEUE: &[&str] = &["queue", "queue_name", "topic", "channel", "routing_key", "stream"];
pub(super) const WORKER: &[&str] =
    &["worker", "worker_id", "worker_name", "failed_by", "hostname", "host", "locked_by", "node", "attempted_by"];
pub(super) const ATTEMPTS: &[&str] = &[
    "attempts",
    "attempt",
    "retry_count",
    "retries",
    "executions",
    "executions_count",
    "error_count",
    "failures",
    "tries",
    "num_attempts",
];
pub(super) const MOST: &[&str] = &["max_attempts", "max_retries", "retry_limit", "max_tries"];
pub(super) const PAYLOAD: &[&str] = &[
    "arguments",
    "args",
    "payload",
    "params",
    "parameters",
    "job_data",
    "data",
    "body",
    "message_body",
    "kwargs",
    "content",
    "message",
];
pub(super) const TRACE: &[&str] =
    &["backtrace", "error_backtrace", "stacktrace", "stack_trace", "error_stacktrace", "traceback", "stack", "trace"];
pub(super) const LINEAGE: &[&str] = &["job_id", "job_uuid", "original_id", "original_job_id", "source_id", "event_id"];
pub(super) const REASON: &[&str] = &["reason", "failure_reason", "dead_reason", "category"];

pub(super) const DEAD: &[&str] = &[
    "dead",
    "fail",
    "discard",
    "error",
    "expired",
    "buried",
    "exhausted",
    "permanent",
    "abandon",
    "killed",
    "abort",
    "reject",
    "poison",
];
pub(super) const RESOLVED: &[&str] =
    &["resolved", "succe", "complete", "done", "processed", "finished", "resent", "sent", "deliver", "replayed", "ok"];
pub(super) const IGNORED: &[&str] = &["ignore", "mute", "skip", "cancel", "dismiss"];
/// Parts of names of what a worker wrote about a job, and not what it was given.
pub(super) const TOLD: &[&str] = &["error", "exception", "fail", "trace", "stack", "result", "output"];
/// Parts of names of live queues: rows wait there to be run.
pub(super) const LIVES: &[&str] = &["available_at", "reserved_at", "locked_at", "locked_until", "run_at", "visible_at"];
/// Parts of names that mean death, apart from those of states.
pub(super) const DIED: &[&str] = &["die", "death", "kill"];

/// Whether a name or a word has one of these in it.
pub(super) fn has(text: &str, words: &[&str]) -> bool {
    let text = text.to_ascii_lowercase();
    words.iter().any(|word| text.contains(word))
}
