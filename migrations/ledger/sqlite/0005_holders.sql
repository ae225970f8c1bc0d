-- Who executes a run, and until when that is known: for records that several machines share. In a file of the operator's
-- own, a lock of the system's says it.
ALTER TABLE runs ADD COLUMN holder TEXT;
ALTER TABLE runs ADD COLUMN held_until BIGINT;
