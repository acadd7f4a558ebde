"""A scheduler on the unmodified pymesos: runs tasks until all have ended, and prints their states.

Runs in the environment of the client: ADDRESS, number of tasks, seconds. Each tenth task sleeps and
is killed, and each one before it fails.
"""

import json
import os
import sys
import threading
import time

from addict import Dict
from pymesos import MesosSchedulerDriver, Scheduler

ENDS = ("TASK_FINISHED", "TASK_FAILED", "TASK_KILLED", "TASK_LOST", "TASK_ERROR")
CPUS, MEM = 0.1, 16


class Counting(Scheduler):
    def __init__(self, wanted):
        self.wanted, self.started, self.ends, self.killed = wanted, 0, {}, set()
        self.subscriptions = 0

    def registered(self, driver, framework_id, master_info):
        self.subscriptions += 1

    def reregistered(self, driver, master_info):
        self.subscriptions += 1

    def resourceOffers(self, driver, offers):
        for offer in offers:
            tasks = self.tasks(offer)
            if tasks:
                driver.launchTasks(offer["id"], tasks, {"refuse_seconds": 0.1})
            else:
                driver.declineOffer(offer["id"], {"refuse_seconds": 1})

    def tasks(self, offer):
        free = {
            each["name"]: each["scalar"]["value"]
            for each in offer["resources"]
            if each["type"] == "SCALAR"
        }
        fit = min(int(free.get("cpus", 0) / CPUS), int(free.get("mem", 0) / MEM), 20)
        numbers = range(self.started, min(self.wanted, self.started + fit))
        self.started += len(numbers)
        return [self.task(number, offer["agent_id"]["value"]) for number in numbers]

    def task(self, number, agent_id):
        task = Dict()
        task.task_id.value = task.name = f"t{number}"
        task.agent_id.value = agent_id
        task.resources = [
            {"name": "cpus", "type": "SCALAR", "scalar": {"value": CPUS}},
            {"name": "mem", "type": "SCALAR", "scalar": {"value": MEM}},
        ]
        end = {8: "exit 1", 9: "exec sleep 300"}.get(number % 10, "exit 0")
        task.command.value = f"echo started; {end}"
        return task

    def statusUpdate(self, driver, update):
        task_id, state = update["task_id"]["value"], update["state"]
        if state == "TASK_RUNNING" and int(task_id[1:]) % 10 == 9 and task_id not in self.killed:
            self.killed.add(task_id)
            driver.killTask({"value": task_id})
        if state in ENDS:
            self.ends[task_id] = state
            if len(self.ends) >= self.wanted:
                driver.stop()


def main():
    address, wanted, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    scheduler = Counting(wanted)
    framework = Dict(user="root", name="counting", hostname="here", failover_timeout=100)
    driver = MesosSchedulerDriver(scheduler, framework, address, use_addict=True)
    thread = threading.Thread(target=driver.run, daemon=True)
    thread.start()
    limit = time.monotonic() + seconds
    while thread.is_alive() and time.monotonic() < limit:
        time.sleep(0.1)
    print(
        json.dumps({"ends": scheduler.ends, "subscriptions": scheduler.subscriptions}), flush=True
    )
    os._exit(0 if len(scheduler.ends) >= wanted else 1)


main()
