-- The shop's own tables. Times are UTC, written as '2026-11-18 09:14:02.123456'.
create table jobs (
    id integer primary key autoincrement,
    payload text not null,
    attempts int not null default 0,
    max_attempts int not null default 5,
    run_after text not null default (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
    locked_at text,
    locked_by text,
    created_at text not null default (strftime('%Y-%m-%d %H:%M:%f000', 'now'))
);
create index jobs_ready on jobs (run_after) where locked_at is null;
create table jobs_dlq (
    id integer primary key autoincrement,
    original_id bigint,
    payload text,
    attempts int,
    error_class text,
    error_msg text,
    stacktrace text,
    failed_by text,
    failed_at text
);
-- The live queue has counted further than the jobs that the story tells of.
insert into sqlite_sequence (name, seq) values ('jobs', 5000000);
