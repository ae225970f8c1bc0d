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
create table dead_letter_jobs (
    id varchar(36) not null primary key,
    job_class varchar not null,
    job_id varchar not null,
    queue_name varchar,
    arguments json not null default '{}',
    error_class varchar not null,
    error_message text,
    error_backtrace json not null default '[]',
    failed_at datetime(6) not null,
    status varchar not null default 'failed',
    metadata json not null default '{}',
    created_at datetime(6) not null,
    updated_at datetime(6) not null
);
create unique index index_dead_letter_jobs_on_job_id on dead_letter_jobs (job_id);
create index index_dead_letter_jobs_on_job_class_and_status on dead_letter_jobs (job_class, status);
create index index_dead_letter_jobs_on_status on dead_letter_jobs (status);
create index index_dead_letter_jobs_on_failed_at on dead_letter_jobs (failed_at);
