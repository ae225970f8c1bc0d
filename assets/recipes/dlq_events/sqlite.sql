-- name: capture
-- An event whose handling failed; the first retry is due in half a minute.
INSERT INTO dlq_events (event_type, payload, error_reason, error_stacktrace, status, retry_count, retry_after)
VALUES (:event_type, :payload, :reason, :stacktrace, 'PENDING', 0, strftime('%Y-%m-%d %H:%M:%f000', 'now', '30 seconds'));

-- name: claim
-- The events that are due, each for one worker. `retry_count` is the receipt: the statements below want it back, and do
-- nothing once somebody else has ended the attempt.
UPDATE dlq_events SET status = 'PROCESSING', updated_at = strftime('%Y-%m-%d %H:%M:%f000', 'now')
WHERE id IN (
    SELECT id FROM dlq_events
    WHERE status = 'PENDING' AND (retry_after IS NULL OR retry_after <= strftime('%Y-%m-%d %H:%M:%f000', 'now'))
    ORDER BY retry_after LIMIT 20
)
RETURNING id, event_type, payload, retry_count;

-- name: alive
-- While an event is handled, each minute.
UPDATE dlq_events SET updated_at = strftime('%Y-%m-%d %H:%M:%f000', 'now')
WHERE id = :id AND status = 'PROCESSING' AND retry_count = :retry_count;

-- name: succeeded
UPDATE dlq_events SET status = 'SUCCEEDED', updated_at = strftime('%Y-%m-%d %H:%M:%f000', 'now')
WHERE id = :id AND status = 'PROCESSING' AND retry_count = :retry_count;

-- name: failed
-- Five retries; before each of them twice the wait, up to an hour, give or take half.
UPDATE dlq_events SET
    status = CASE WHEN retry_count + 1 >= 5 THEN 'FAILED_PERMANENTLY' ELSE 'PENDING' END,
    retry_after = strftime('%Y-%m-%d %H:%M:%f000', 'now',
        (min(3600, 30 << min(retry_count + 1, 10)) * (0.5 + abs(random() % 1000) / 1000.0)) || ' seconds'),
    error_reason = :reason, error_stacktrace = :stacktrace, updated_at = strftime('%Y-%m-%d %H:%M:%f000', 'now'),
    retry_count = retry_count + 1
WHERE id = :id AND status = 'PROCESSING' AND retry_count = :retry_count;

-- name: recover
-- Events whose worker has given no sign of life for five minutes; each minute, by anybody.
UPDATE dlq_events SET
    status = CASE WHEN retry_count + 1 >= 5 THEN 'FAILED_PERMANENTLY' ELSE 'PENDING' END,
    retry_after = strftime('%Y-%m-%d %H:%M:%f000', 'now'),
    error_reason = 'WorkerLost: no sign of life for five minutes', error_stacktrace = NULL,
    updated_at = strftime('%Y-%m-%d %H:%M:%f000', 'now'), retry_count = retry_count + 1
WHERE status = 'PROCESSING' AND updated_at < strftime('%Y-%m-%d %H:%M:%f000', 'now', '-5 minutes');
