import asyncio
import datetime
import logging
import time

from procrastinate import App, PsycopgConnector, RetryStrategy
from procrastinate.jobs import DeleteJobCondition

import shop

logging.disable()
app = App(connector=PsycopgConnector(conninfo=shop.DATABASE))

KINDS = ["plain", "multiline", "empty", "unicode", "big", "cause", "twice", "locked", "queueing", "urgent"]


def define(kind):
    retry = RetryStrategy(max_attempts=1, wait=0) if kind == "twice" else False

    @app.task(name=f"shop.tasks.{kind}", queue="mailers" if kind == "urgent" else "default", retry=retry)
    def task(marker, **_):
        shop.run(kind, marker)

    return task


TASKS = {kind: define(kind) for kind in KINDS}


async def install():
    await app.schema_manager.apply_schema_async()


async def enqueue():
    for kind, marker in shop.jobs():
        options = {
            "locked": {"lock": "customer:1"},
            "queueing": {"queueing_lock": "nightly"},
            "urgent": {"priority": 7},
        }.get(kind, {})
        number = await TASKS[kind].configure(**options).defer_async(**shop.payload(kind, marker))
        shop.say(enqueued=marker, kind=kind, id=str(number))


async def work():
    # Two seconds are now: who puts a job back may round.
    soon = "select count(*) as n from procrastinate_jobs where status = 'todo' and coalesce(scheduled_at, now()) <= now() + interval '2 s'"
    while True:
        await app.run_worker_async(
            wait=False,
            install_signal_handlers=False,
            listen_notify=False,
            delete_jobs=DeleteJobCondition.NEVER,
            concurrency=2,
            name="worker-eu-1",
        )
        if (await app.connector.execute_query_one_async(soon))["n"] == 0:
            return
        await asyncio.sleep(0.05)


async def retry():
    for number in shop.WORDS:
        now = datetime.datetime.now(datetime.timezone.utc)
        await app.job_manager.retry_job_by_id_async(job_id=int(number), retry_at=now)
        shop.say(retried=number)


async def retry_all():
    began = time.perf_counter()
    now = datetime.datetime.now(datetime.timezone.utc)
    dead = [job.id for job in await app.job_manager.list_jobs_async(status="failed")]
    for number in dead:
        await app.job_manager.retry_job_by_id_async(job_id=number, retry_at=now)
    shop.say(retried=len(dead), ms=(time.perf_counter() - began) * 1000)


async def main():
    verbs = {"install": install, "enqueue": enqueue, "work": work, "retry": retry, "retry-all": retry_all}
    async with app.open_async():
        await verbs[shop.VERB]()


asyncio.run(main())
