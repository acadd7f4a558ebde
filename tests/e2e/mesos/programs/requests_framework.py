"""A scheduler on avmesos or mesoshttp, unmodified: MODULE, ADDRESS, tasks, seconds."""

import importlib
import sys
import threading
import time
from contextlib import suppress

from work import DOUBT, Launcher, Tally


def main():
    module, address, wanted, seconds = sys.argv[1:5]
    library = importlib.import_module(f"{module}.client").MesosClient
    launcher, tally = Launcher(int(wanted)), Tally(int(wanted))
    client = library([f"http://{address}"], frameworkName="counting", max_reconnect=1000)
    library.WAIT_TIME = 1
    client.set_failover_timeout(100)

    def driver():
        """A driver with the present stream: the client keeps one that it made while away."""
        client.driver = None
        return client.get_driver()

    def offered(offers):
        for offer in offers:
            tasks = launcher.tasks(offer.get_offer())
            options = {"filters": {"refuse_seconds": 0.1}}
            if tasks:
                offer.accept(tasks, options)
            else:
                offer.decline(options)

    def updated(update):
        status = update["status"]
        if tally.take(status["task_id"]["value"], status["state"]):
            driver().kill(status["agent_id"]["value"], status["task_id"]["value"])

    client.on(library.OFFERS, offered)
    client.on(library.UPDATE, updated)
    threading.Thread(target=client.register, daemon=True).start()
    limit, reconciled = time.monotonic() + float(seconds), time.monotonic()
    while not tally.done and time.monotonic() < limit:
        time.sleep(0.5)
        names = launcher.doubtful(tally.ends)
        with suppress(Exception):  # the master is away
            if names and time.monotonic() > reconciled + DOUBT:
                reconciled = time.monotonic()
                driver().reconcile([{"task_id": {"value": name}} for name in names])
    tally.leave()


main()
