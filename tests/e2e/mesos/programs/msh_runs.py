"""mesos-go's msh, one framework per task over protobuf: MSH, ADDRESS, tasks, seconds.

Each odd task runs in a task group. A task that must be killed ends with its framework. After an
offer that is too small msh forgets what it wants (its request has no names): it is
started again if it has launched nothing.
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
    """The end of one run; None if it has launched nothing."""
    launched = False
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as process:
        timer = threading.Timer(WAIT, process.kill)
        timer.start()
        for text in process.stderr:
            if "launching task" in text:
                launched = True
                timer.cancel()
            if must and "TASK_RUNNING" in text:
                process.kill()
                return "TASK_KILLED"
        timer.cancel()
        code = process.wait()
    if not launched:
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
