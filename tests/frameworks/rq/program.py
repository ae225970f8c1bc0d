import time

from redis import Redis
from rq import Queue, Retry, SimpleWorker
from rq.job import Job

import shop
import tasks

connection = Redis(unix_socket_path=shop.DATABASE.removeprefix("redis+unix://").removeprefix("unix://"))
queue = Queue("default", connection=connection)


def install():
    connection.ping()


def enqueue():
    for kind, marker in shop.jobs():
        retry = Retry(max=1) if kind == "twice" else None
        job = queue.enqueue(getattr(tasks, kind), kwargs=shop.payload(kind, marker), retry=retry, job_id=marker)
        shop.say(enqueued=marker, kind=kind, id=job.id)


def work():
    SimpleWorker([queue], connection=connection, name="worker-eu-1").work(burst=True, logging_level="CRITICAL")


def retry():
    for number in shop.WORDS:
        queue.failed_job_registry.requeue(number)
        shop.say(retried=number)


def retry_all():
    began = time.perf_counter()
    dead = queue.failed_job_registry.get_job_ids()
    for number in dead:
        queue.failed_job_registry.requeue(number)
    shop.say(retried=len(dead), ms=(time.perf_counter() - began) * 1000)


def delete():
    for number in shop.WORDS:
        Job.fetch(number, connection=connection).delete()


verbs = {"install": install, "enqueue": enqueue, "work": work, "retry": retry, "retry-all": retry_all, "delete": delete}
verbs[shop.VERB]()
