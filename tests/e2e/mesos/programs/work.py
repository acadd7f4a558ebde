"""Work of every framework: of ten tasks one fails, and one sleeps and is killed."""

import json
import os
import time

ENDS = ("TASK_FINISHED", "TASK_FAILED", "TASK_KILLED", "TASK_LOST", "TASK_ERROR")
CPUS, MEM, SECONDS = 0.1, 32, 2
#: Seconds after which a task is reconciled.
DOUBT = 5


def command(number):
    end = {8: "exit 1", 9: "exec sleep 300"}.get(number % 10, "exit 0")
    return f"echo started; sleep {SECONDS}; {end}"


class Tally:
    """Which tasks have ended, and which run that must be killed."""

    def __init__(self, wanted):
        self.wanted, self.ends = wanted, {}

    def take(self, task_id, state):
        """Take a state; True if the task must be killed now."""
        if state in ENDS:
            self.ends[task_id] = state
        return state == "TASK_RUNNING" and int(task_id[1:]) % 10 == 9

    @property
    def done(self):
        return len(self.ends) >= self.wanted

    def leave(self):
        """Print the ends, and end the process with all of its threads."""
        print(json.dumps({"ends": self.ends}), flush=True)
        os._exit(0 if self.done else 1)


class Launcher:
    """Turns offers into tasks until all are started.

    A call to a master that dies may be lost: tasks without an end are reconciled after a while.
    """

    def __init__(self, wanted):
        self.wanted, self.started, self.times = wanted, 0, {}

    def doubtful(self, ends):
        """Names of tasks that were started a while ago and have not ended."""
        late = time.monotonic() - DOUBT
        return [name for name, at in list(self.times.items()) if at < late and name not in ends]

    def tasks(self, offer, executor=None):
        free = {
            each["name"]: each["scalar"]["value"]
            for each in offer["resources"]
            if each["type"] == "SCALAR"
        }
        fit = min(int(free.get("cpus", 0) / CPUS), int(free.get("mem", 0) / MEM), 20)
        fit -= executor is not None  # it needs as much as a task
        numbers = range(self.started, min(self.wanted, self.started + fit))
        self.started += len(numbers)
        self.times |= {f"t{number}": time.monotonic() for number in numbers}
        return [task(number, offer["agent_id"]["value"], executor) for number in numbers]


def task(number, agent_id, executor=None):
    made = {
        "task_id": {"value": f"t{number}"},
        "name": f"t{number}",
        "agent_id": {"value": agent_id},
        "resources": [
            {"name": "cpus", "type": "SCALAR", "scalar": {"value": CPUS}},
            {"name": "mem", "type": "SCALAR", "scalar": {"value": MEM}},
        ],
    }
    if executor is None:
        return made | {"command": {"value": command(number)}}
    return made | {"executor": executor}
