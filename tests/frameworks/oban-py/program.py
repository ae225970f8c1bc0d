import asyncio
import logging
import sys

from oban import Cancel, Oban, worker
from oban.schema import install as install_schema

import shop

logging.disable()

if sys.version_info < (3, 12):
    # Until 3.12 it could swallow a cancellation, and a worker that is asked to stop would never end.
    async def wait_for(awaitable, timeout):
        async with asyncio.timeout(timeout):
            return await awaitable

    asyncio.wait_for = wait_for


def define(kind):
    class Worker:
        async def process(self, job):
            if kind == "cancelled" and shop.BROKEN:
                shop.say(ran=job.args["marker"], kind=kind, ok=False, **{"class": None, "message": "not needed any more"})
                return Cancel("not needed any more")
            shop.run(kind, job.args["marker"])

        def backoff(self, job):
            return 0

    # The framework knows a worker by its module and its name in it.
    Worker.__qualname__ = Worker.__name__ = f"Shop{kind.title()}"
    options = {"max_attempts": 2 if kind == "twice" else 1, "queue": "payments" if kind == "urgent" else "default"}
    if kind == "urgent":
        options |= {"priority": 1, "tags": ["eu", "vip"], "meta": {"trace": "abc"}}
    return worker(**options)(Worker)


KINDS = ["plain", "multiline", "empty", "unicode", "big", "cause", "twice", "urgent", "cancelled"]
WORKERS = {kind: define(kind) for kind in KINDS}


async def enqueue():
    for kind, marker in shop.jobs():
        job = await WORKERS[kind].enqueue(shop.payload(kind, marker))
        shop.say(enqueued=marker, kind=kind, id=str(job.id))


async def idle(pool):
    # Two seconds are now: who puts a job back may round.
    live = """select count(*) from oban_jobs where state = 'executing' or state in ('available', 'scheduled', 'retryable')
        and scheduled_at <= timezone('UTC', now()) + interval '2 s'"""
    while True:
        async with pool.connection() as connection:
            if (await (await connection.execute(live)).fetchone())[0] == 0:
                return
        await asyncio.sleep(0.05)


async def main():
    pool = await Oban.create_pool(shop.DATABASE)
    works = shop.VERB == "work"
    queues = {"default": 2, "payments": 1} if works else {}
    oban = Oban(pool=pool, node="worker-eu-1", queues=queues, leadership=works, stager={"interval": 0.1})
    match shop.VERB:
        case "install":
            await install_schema(pool)
        case "enqueue":
            await enqueue()
        case "work":
            async with oban:
                await idle(pool)
        case "retry":
            await oban.retry_many_jobs([int(number) for number in shop.WORDS])
            for number in shop.WORDS:
                shop.say(retried=number)
        case "delete":
            await oban.delete_many_jobs([int(number) for number in shop.WORDS])
    await pool.close()


asyncio.run(main())
