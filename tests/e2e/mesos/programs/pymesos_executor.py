"""An executor on the unmodified pymesos: writes a line per task, and answers each message."""

import threading
import time

from pymesos import Executor, MesosExecutorDriver


class Writing(Executor):
    def __init__(self):
        self.killed = {}

    def launchTask(self, driver, task):
        name = task["task_id"]["value"]
        with open(f"task-{name}", "a") as file:
            file.write("started\n")
        self.killed[name] = threading.Event()
        threading.Thread(target=self.run, args=(driver, name), daemon=True).start()

    def run(self, driver, name):
        tell(driver, name, "TASK_RUNNING")
        number = int(name[1:])
        if number % 10 == 9:
            self.killed[name].wait()
            state = "TASK_KILLED"
        else:
            time.sleep(2)
            state = "TASK_FAILED" if number % 10 == 8 else "TASK_FINISHED"
        tell(driver, name, state)

    def killTask(self, driver, task_id):
        self.killed[task_id["value"]].set()

    def frameworkMessage(self, driver, message):
        driver.sendFrameworkMessage(message)


def tell(driver, name, state):
    """Send a status, again after a failure: the agent may be away."""
    status = {"task_id": {"value": name}, "state": state}
    while True:
        try:
            driver.sendStatusUpdate(status)
            return
        except Exception:  # noqa: BLE001  (whatever the client raises while the agent is away)
            time.sleep(0.5)


MesosExecutorDriver(Writing()).run()
