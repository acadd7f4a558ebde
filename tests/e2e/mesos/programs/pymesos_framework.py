"""A scheduler on the unmodified pymesos: ADDRESS, tasks, seconds, and the program of an executor.

With an executor each task is also a message to it; the framework counts the answers.
"""

import base64
import json
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from addict import Dict
from pymesos import MesosSchedulerDriver, Scheduler
from work import DOUBT, ENDS, Launcher, Tally


class Counting(Scheduler):
    def __init__(self, wanted, executor):
        self.launcher, self.tally, self.executor = Launcher(wanted), Tally(wanted), executor
        self.answers = set()

    def resourceOffers(self, driver, offers):
        for offer in offers:
            tasks = self.launcher.tasks(offer, self.executor)
            if tasks:
                driver.launchTasks(offer["id"], tasks, {"refuse_seconds": 0.1})
            else:
                driver.declineOffer(offer["id"], {"refuse_seconds": 1})

    def statusUpdate(self, driver, update):
        task_id, state = update["task_id"]["value"], update["state"]
        if self.tally.take(task_id, state):
            driver.killTask({"value": task_id})
        if state == "TASK_RUNNING" and self.executor:
            data = base64.b64encode(task_id.encode()).decode()
            driver.sendFrameworkMessage(self.executor["executor_id"], update["agent_id"], data)
        if state in ENDS and self.tally.done:
            driver.stop()

    def frameworkMessage(self, driver, executor_id, agent_id, message):
        self.answers.add(base64.b64decode(message).decode())


def executor(program):
    interpreter = f"{sys.executable} " if program.suffix == ".py" else ""
    uri = {"value": f"file://{program}", "extract": False, "executable": True}
    return {
        "executor_id": {"value": "own"},
        "type": "CUSTOM",
        "command": {"value": f"exec {interpreter}./{program.name}", "uris": [uri]},
        "resources": [
            {"name": "cpus", "type": "SCALAR", "scalar": {"value": 0.1}},
            {"name": "mem", "type": "SCALAR", "scalar": {"value": 32}},
        ],
    }


def main():
    address, wanted, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    scheduler = Counting(wanted, executor(Path(sys.argv[4])) if sys.argv[4:] else None)
    framework = Dict(user="root", name="counting", hostname="here", failover_timeout=100)
    framework.checkpoint = True
    driver = MesosSchedulerDriver(scheduler, framework, address, use_addict=True)
    thread = threading.Thread(target=driver.run, daemon=True)
    thread.start()
    limit = time.monotonic() + seconds
    while thread.is_alive() and time.monotonic() < limit:
        thread.join(DOUBT)
        names = scheduler.launcher.doubtful(scheduler.tally.ends)
        with suppress(Exception):  # it has stopped, or the master is away
            if names:
                driver.reconcileTasks([{"task_id": {"value": name}} for name in names])
    print(json.dumps({"answers": len(scheduler.answers)}))
    scheduler.tally.leave()


main()
