import logging
import time

import dramatiq
import redis
from dramatiq.brokers.redis import RedisBroker

import shop

logging.disable()
path = shop.DATABASE.removeprefix("redis+unix://").removeprefix("unix://")
client = redis.Redis(connection_pool=redis.ConnectionPool(connection_class=redis.UnixDomainSocketConnection, path=path))
broker = RedisBroker(client=client)
dramatiq.set_broker(broker)


def define(kind):
    # A message that is never retried dies without a traceback.
    @dramatiq.actor(actor_name=kind, max_retries=2 if kind == "twice" else 1, min_backoff=1, max_backoff=2)
    def task(marker, **_):
        shop.run(kind, marker)

    return task


ACTORS = {kind: define(kind) for kind in ["plain", "multiline", "empty", "unicode", "big", "cause", "twice"]}


def install():
    client.ping()


def enqueue():
    for kind, marker in shop.jobs():
        message = ACTORS[kind].send(**shop.payload(kind, marker))
        shop.say(enqueued=marker, kind=kind, id=message.options["redis_message_id"])


def work():
    worker = dramatiq.Worker(broker, worker_timeout=50, worker_threads=1)
    worker.start()
    broker.join("default", interval=20)
    worker.join()
    # The last message may be on its way back to the queue of delays.
    while broker.client.llen("dramatiq:default") or broker.client.llen("dramatiq:default.DQ"):
        broker.join("default", interval=20)
        worker.join()
    time.sleep(0.1)
    worker.stop()


verbs = {"install": install, "enqueue": enqueue, "work": work}
verbs[shop.VERB]()
