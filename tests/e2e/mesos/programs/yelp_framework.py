"""Yelp's task_processing, unmodified, with its Mesos plugin: ADDRESS, tasks, seconds."""

import queue
import sys
import time

from task_processing.plugins.mesos.mesos_task_executor import MesosTaskExecutor
from task_processing.plugins.mesos.task_config import MesosTaskConfig
from work import CPUS, MEM, Tally, command


def main():
    address, wanted, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    tally, limit = Tally(wanted), time.monotonic() + float(seconds)
    executor = MesosTaskExecutor(role="*", mesos_address=address, principal="", secret="")
    for number in range(wanted):
        made = MesosTaskConfig(
            name="task",
            uuid=f"t{number}",
            cmd=command(number),
            cpus=CPUS,
            mem=MEM,
            disk=1,
            containerizer="MESOS",
            offer_timeout=float(seconds),
        )
        executor.run(made)
    events = executor.get_event_queue()
    while not tally.done and time.monotonic() < limit:
        try:
            event = events.get(timeout=1)
        except queue.Empty:
            continue
        if event.kind != "task" or not event.platform_type:
            continue
        name = event.task_id.rpartition(".")[2]
        if tally.take(name, f"TASK_{event.platform_type.upper()}"):
            executor.kill(event.task_id)
    tally.leave()


main()
