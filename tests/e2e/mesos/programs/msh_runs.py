"""mesos-go's msh, one framework per task over protobuf: MSH, ADDRESS, tasks, seconds.

Each odd task runs in a task group. A task that must be killed ends with its framework. msh is
started again if no task of it has started: after an offer that is too small it forgets what it
wants (its request has no names), and a task that it launches on the offer of an agent that has just
died is lost.
"""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from work import Tally, command

WAIT, AT_ONCE = 15, 8


def run(msh, address, number, limit):
    pod = ["-pod"] if number % 2 else []
    line = [msh, *pod, "-master", address, "--", "sh", "-c", command(number)]
    while time.monotonic() < limit:
        state = once(line, number % 10 == 9)
        if state is not None:
            return state
    return None


def once(line, must):
    """The end of one run; None if it has launched nothing, or its task is lost."""
    launched = lost = False
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as process:
        timer = threading.Timer(WAIT, process.kill)
        timer.start()
        for text in process.stderr:
            if "launching task" in text:
                launched = True
                timer.cancel()
            lost = lost or "unexpected state TASK_LOST" in text
            if must and "TASK_RUNNING" in text:
                process.kill()
                return "TASK_KILLED"
        timer.cancel()
        code = process.wait()
    if lost or not launched:
        return None
    return "TASK_FAILED" if code else "TASK_FINISHED"


def main():
    msh, address, wanted, seconds = sys.argv[1:]
    tally, limit = Tally(int(wanted)), time.monotonic() + float(seconds)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = {
            number: pool.submit(run, msh, address, number, limit) for number in range(int(wanted))
        }
        for number, future in runs.items():
            state = future.result()
            if state is not None:
                tally.ends[f"t{number}"] = state
    tally.leave()


main()
