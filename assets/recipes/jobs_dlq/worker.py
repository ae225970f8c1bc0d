"""A worker on the tables jobs and jobs_dlq, in PostgreSQL, MySQL and MariaDB, or SQLite."""

import json
import os
import random
import signal
import socket
import threading
import time
import traceback
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import unquote, urlparse

LEASE = 300  # seconds without a sign of life after which a worker counts as lost
WORKER = f"{socket.gethostname()}:{os.getpid()}"
OURS = "id = %s AND locked_by = %s AND attempts = %s"  # nobody else has taken the job meanwhile


def backoff(attempts):
    """Seconds to the next attempt: 5, 10, 20 … up to an hour, give or take half, so that not all come back at once."""
    return min(3600, 5 * 2 ** (attempts - 1)) * random.uniform(0.5, 1.5)


class Job(NamedTuple):
    id: int
    payload: str
    attempts: int
    max_attempts: int
    locked_by: str

    def ours(self):
        return self.id, self.locked_by, self.attempts


class Database:
    """What databases say differently."""

    mark, lock, begin = "%s", "FOR UPDATE SKIP LOCKED", None

    def __init__(self, url):
        parts = urlparse(url)
        if parts.scheme in ("postgres", "postgresql"):
            import psycopg

            self.connect = lambda: psycopg.connect(url)
            self.now, self.later = "now()", "now() + %s * interval '1 second'"
        elif parts.scheme in ("mysql", "mariadb"):
            import pymysql

            where = dict(host=parts.hostname, port=parts.port or 3306, database=parts.path[1:])
            who = dict(user=parts.username, password=unquote(parts.password or ""))
            calm = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
            self.connect = lambda: pymysql.connect(**where, **who, charset="utf8mb4", init_command=calm)
            self.now, self.later = "utc_timestamp(6)", "utc_timestamp(6) + INTERVAL %s SECOND"
        elif parts.scheme == "sqlite":
            import sqlite3

            path = url.split("?")[0].removeprefix("sqlite:").removeprefix("//")
            self.connect = lambda: sqlite3.connect(path, timeout=30, isolation_level=None)
            self.mark, self.lock, self.begin = "?", "", "BEGIN IMMEDIATE"  # the whole database is locked
            form = "strftime('%Y-%m-%d %H:%M:%f000', 'now'"
            self.now, self.later = f"{form})", f"{form}, %s || ' seconds')"
        else:
            raise ValueError(f"{parts.scheme}: is no database that this worker knows")

    @contextmanager
    def transaction(self, connection):
        cursor = connection.cursor()

        def run(sql, *values):
            cursor.execute(sql.replace("%s", self.mark), values)
            return cursor

        try:
            if self.begin:
                cursor.execute(self.begin)
            yield run
            connection.commit()
        except BaseException:
            connection.rollback()
            raise


def claim(db, connection):
    """Takes the job that is due the longest. The attempt counts from here, so that a job that kills its worker ends too."""
    with db.transaction(connection) as run:
        found = run(
            f"SELECT id, payload, attempts + 1, max_attempts FROM jobs WHERE locked_at IS NULL AND run_after <= {db.now}"
            f" ORDER BY run_after LIMIT 1 {db.lock}"
        ).fetchone()
        if found:
            job = Job(*found, WORKER)
            run(f"UPDATE jobs SET locked_at = {db.now}, locked_by = %s, attempts = attempts + 1 WHERE id = %s", WORKER, job.id)
            return job


@contextmanager
def alive(db, job):
    """Renews the lock while the handler works, however long that takes."""
    done = threading.Event()

    def beat():
        while not done.wait(LEASE / 3):
            try:
                connection = db.connect()
                with db.transaction(connection) as run:
                    run(f"UPDATE jobs SET locked_at = {db.now} WHERE {OURS}", *job.ours())
                connection.close()
            except Exception:
                traceback.print_exc()  # and again with the next beat

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def failed(db, run, job, error_class, message, trace=None):
    """Ends an attempt: the job waits for its next one, or moves to jobs_dlq. Part of the caller's transaction."""
    if not run(f"SELECT id FROM jobs WHERE {OURS} {db.lock}", *job.ours()).fetchone():
        return  # it was taken for lost, and is somebody else's now
    if job.attempts < job.max_attempts:
        run(
            f"UPDATE jobs SET run_after = {db.later}, locked_at = NULL, locked_by = NULL WHERE id = %s",
            backoff(job.attempts), job.id,
        )
        return
    run(
        "INSERT INTO jobs_dlq (original_id, payload, attempts, error_class, error_msg, stacktrace, failed_by, failed_at)"
        f" SELECT id, payload, attempts, %s, %s, %s, locked_by, {db.now} FROM jobs WHERE id = %s",
        error_class, text(message), text(trace), job.id,
    )
    run("DELETE FROM jobs WHERE id = %s", job.id)


def recover(db, connection):
    """Ends the attempts of workers that are lost."""
    with db.transaction(connection) as run:
        lost = run(
            f"SELECT id, payload, attempts, max_attempts, locked_by FROM jobs WHERE locked_at < {db.later}"
            f" ORDER BY locked_at LIMIT 100 {db.lock}", -LEASE,
        ).fetchall()
        for job in map(Job._make, lost):
            failed(db, run, job, "WorkerLost", f"no sign of life of {job.locked_by} for {LEASE} seconds")


def perform(db, connection, handlers, job):
    try:
        with alive(db, job):
            payload = json.loads(job.payload) if isinstance(job.payload, str) else job.payload
            handlers[payload["class"]](*payload.get("arguments", []))
    except Exception as error:
        kind = type(error)
        name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        with db.transaction(connection) as run:
            failed(db, run, job, name, str(error), "".join(traceback.format_exception(error)))
    else:
        with db.transaction(connection) as run:
            run(f"DELETE FROM jobs WHERE {OURS}", *job.ours())


def text(value):
    """What every database takes: no NUL, and nothing that is no character."""
    return value and value.replace("\0", "").encode("utf-8", "replace").decode()


def work(url, handlers, until_idle=False):
    """Works until SIGTERM or SIGINT, and ends after the job at hand."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    db, recovered = Database(url), None
    connection = db.connect()
    while not stop.is_set():
        if recovered is None or time.monotonic() - recovered > LEASE / 5:
            recover(db, connection)
            recovered = time.monotonic()
        job = claim(db, connection)
        if job:
            perform(db, connection, handlers, job)
        elif until_idle:
            break
        else:
            stop.wait(1)
    connection.close()
