"""A Mesos framework in one file, without libraries: run a command several times.

    python examples/mesos/batch.py 127.0.0.1:5050 3 'echo done'

It subscribes to a master, launches as many tasks as each offer holds, acknowledges their updates,
wants no more offers once all are launched, and ends with the last task.
"""

import http.client
import json
import sys
from collections.abc import Iterator
from typing import Any

CPUS, MEMORY = 0.5, 64.0
ENDED = ("TASK_FINISHED", "TASK_FAILED", "TASK_KILLED", "TASK_LOST", "TASK_ERROR")


class Batch:
    """Copies of one command."""

    def __init__(self, master: str, count: int, command: str) -> None:
        self.master, self.command = master, command
        self.waiting = [f"task-{number}" for number in range(count)]
        self.states = dict.fromkeys(self.waiting, "TASK_STAGING")
        self.framework: dict[str, Any] = {}
        self.stream = ""

    def events(self) -> Iterator[dict[str, Any]]:
        """Subscribe; the events of the stream: a length, a newline and JSON."""
        info = {"user": "root", "name": "batch", "roles": ["batch"]}
        info["capabilities"] = [{"type": "MULTI_ROLE"}]
        answer = self.post({"type": "SUBSCRIBE", "subscribe": {"framework_info": info}})
        self.stream = answer.headers["Mesos-Stream-Id"]
        while length := answer.readline():
            yield json.loads(answer.read(int(length)))

    def post(self, call: dict[str, Any]) -> http.client.HTTPResponse:
        """Send a call to the master."""
        connection = http.client.HTTPConnection(self.master, timeout=60)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.stream:
            headers["Mesos-Stream-Id"] = self.stream
        connection.request("POST", "/api/v1/scheduler", json.dumps(call | self.framework), headers)
        answer = connection.getresponse()
        if answer.status not in (200, 202):
            sys.exit(f"the master answers {answer.status}: {answer.read().decode()}")
        return answer

    def launch(self, offer: dict[str, Any]) -> None:
        """Launch the tasks that fit into an offer; without any it is declined."""
        scalars = {e["name"]: e["scalar"]["value"] for e in offer["resources"] if "scalar" in e}
        fits = int(min(scalars.get("cpus", 0) / CPUS, scalars.get("mem", 0) / MEMORY))
        names, self.waiting = self.waiting[:fits], self.waiting[fits:]
        launch = {"task_infos": [self.task(name, offer["agent_id"]) for name in names]}
        operations = [{"type": "LAUNCH", "launch": launch}] if names else []
        accept = {"offer_ids": [offer["id"]], "operations": operations}
        self.post({"type": "ACCEPT", "accept": accept})
        if not self.waiting:
            self.post({"type": "SUPPRESS", "suppress": {}})

    def task(self, name: str, agent_id: dict[str, str]) -> dict[str, Any]:
        """The TaskInfo of one task."""
        amounts = {"cpus": CPUS, "mem": MEMORY}
        return {
            "name": name,
            "task_id": {"value": name},
            "agent_id": agent_id,
            "command": {"value": self.command},
            "resources": [
                {"name": key, "type": "SCALAR", "scalar": {"value": value}}
                for key, value in amounts.items()
            ],
        }

    def update(self, status: dict[str, Any]) -> None:
        """Note the state of a task, and acknowledge the update."""
        self.states[status["task_id"]["value"]] = status["state"]
        if "uuid" in status:
            wanted = ("agent_id", "task_id", "uuid")
            body = {key: status[key] for key in wanted}
            self.post({"type": "ACKNOWLEDGE", "acknowledge": body})

    def run(self) -> None:
        """Run until every task has ended; the master removes a framework whose stream closes."""
        for event in self.events():
            if event["type"] == "SUBSCRIBED":
                self.framework = {"framework_id": event["subscribed"]["framework_id"]}
            elif event["type"] == "OFFERS":
                for offer in event["offers"]["offers"]:
                    self.launch(offer)
            elif event["type"] == "UPDATE":
                self.update(event["update"]["status"])
            if all(state in ENDED for state in self.states.values()):
                return


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: batch.py HOST:PORT COUNT COMMAND")
    batch = Batch(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    batch.run()
    for task, state in batch.states.items():
        print(f"{task:8} {state}")
