-- name: capture
-- An event whose handling failed; the first retry is due in half a minute.
INSERT INTO dlq_events (event_type, payload, error_reason, error_stacktrace, status, retry_count, retry_after)
VALUES (:event_type, :payload, :reason, :stacktrace, 'PENDING', 0, utc_timestamp(6) + INTERVAL 30 SECOND);

-- name: due
-- The events that are due. In one transaction with `claim` for each of them. `retry_count` is the receipt: the statements
-- below want it back, and do nothing once somebody else has ended the attempt.
SELECT id, event_type, payload, retry_count FROM dlq_events
WHERE status = 'PENDING' AND (retry_after IS NULL OR retry_after <= utc_timestamp(6))
ORDER BY retry_after LIMIT 20 FOR UPDATE SKIP LOCKED;

-- name: claim
UPDATE dlq_events SET status = 'PROCESSING', updated_at = utc_timestamp(6) WHERE id = :id;

-- name: alive
-- While an event is handled, each minute.
UPDATE dlq_events SET updated_at = utc_timestamp(6) WHERE id = :id AND status = 'PROCESSING' AND retry_count = :retry_count;

-- name: succeeded
UPDATE dlq_events SET status = 'SUCCEEDED', updated_at = utc_timestamp(6)
WHERE id = :id AND status = 'PROCESSING' AND retry_count = :retry_count;

-- name: failed
-- Five retries; before each of them twice the wait, up to an hour, give or take half. `retry_count` last: MySQL assigns
-- from left to right, and reads what it has assigned.
UPDATE dlq_events SET
    status = CASE WHEN retry_count + 1 >= 5 THEN 'FAILED_PERMANENTLY' ELSE 'PENDING' END,
    retry_after = utc_timestamp(6) + INTERVAL least(3600, 30 * power(2, least(retry_count + 1, 10))) * (0.5 + rand()) SECOND,
    error_reason = :reason, error_stacktrace = :stacktrace, updated_at = utc_timestamp(6), retry_count = retry_count + 1
WHERE id = :id AND status = 'PROCESSING' AND retry_count = :retry_count;

-- name: recover
-- Events whose worker has given no sign of life for five minutes; each minute, by anybody.
UPDATE dlq_events SET
    status = CASE WHEN retry_count + 1 >= 5 THEN 'FAILED_PERMANENTLY' ELSE 'PENDING' END,
    retry_after = utc_timestamp(6), error_reason = 'WorkerLost: no sign of life for five minutes', error_stacktrace = NULL,
    updated_at = utc_timestamp(6), retry_count = retry_count + 1
WHERE status = 'PROCESSING' AND updated_at < utc_timestamp(6) - INTERVAL 5 MINUTE;
