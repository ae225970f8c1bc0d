import json
import os
import urllib.request

from worker import work


def deliver_webhook(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=60).close()


work(os.environ["DATABASE_URL"], {"DeliverWebhook": deliver_webhook})
