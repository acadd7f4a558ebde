"""mesos-go's msh, one framework per task over protobuf: MSH, ADDRESS, tasks, seconds.

Each odd task runs in a task group. A task that must be killed ends with its framework.
"""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from work import Tally, command

RUNNING = "TASK_RUNNING"


def run(msh, address, number, seconds):
    pod = ["-pod"] if number % 2 else []
    line = [msh, *pod, "-master", address, "--", "sh", "-c", command(number)]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as process:
        must = number % 10 == 9
        while text := process.stderr.readline():
            if must and RUNNING in text:
                process.kill()
                return "TASK_KILLED"
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            return None
    return "TASK_FAILED" if code else "TASK_FINISHED"


def main():
    msh, address, wanted, seconds = sys.argv[1:]
    tally, limit = Tally(int(wanted)), time.monotonic() + float(seconds)
    with ThreadPoolExecutor(10) as pool:
        runs = {
            number: pool.submit(run, msh, address, number, float(seconds))
            for number in range(int(wanted))
        }
        for number, future in runs.items():
            state = future.result(max(0, limit - time.monotonic()))
            if state is not None:
                tally.ends[f"t{number}"] = state
    tally.leave()


main()
