"""A framework over plain HTTP: the events of one subscription, and calls."""

import http.client
import json
import socket
import threading
from contextlib import suppress
from typing import Any

from stretto.offers.messages.records import RecordReader

Body = dict[str, Any]


class Subscriber:
    """One subscribed framework."""

    def __init__(self, port: int, **info: Any) -> None:
        self._port = port
        self.events: list[Body] = []
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        subscribe = {"framework_info": {"user": "u", "name": "f", "failover_timeout": 600.0} | info}
        call: Body = {"type": "SUBSCRIBE", "subscribe": subscribe}
        if "id" in info:
            call["framework_id"] = info["id"]
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        self._connection.request("POST", "/api/v1/scheduler", json.dumps(call), headers)
        self._answer = self._connection.getresponse()
        self.status = self._answer.status
        self._stream = self._answer.getheader("Mesos-Stream-Id", "")
        self._socket = self._connection.sock
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        reader = RecordReader()
        try:
            while data := self._answer.read1(65_536):
                self.events += [json.loads(record) for record in reader.feed(data)]
        except (OSError, ValueError, http.client.HTTPException):
            return

    @property
    def id(self) -> str:
        return str(self._of("SUBSCRIBED")[0]["subscribed"]["framework_id"]["value"])

    def offers(self) -> list[Body]:
        return [each for e in self._of("OFFERS") for each in e["offers"]["offers"]]

    def states(self, task_id: str) -> list[str]:
        statuses = [each["update"]["status"] for each in self._of("UPDATE")]
        return [each["state"] for each in statuses if each["task_id"]["value"] == task_id]

    def acknowledge(self) -> None:
        for event in list(self._of("UPDATE")):
            status = event["update"]["status"]
            if "uuid" in status:
                wanted = ("agent_id", "task_id", "uuid")
                self.call("ACKNOWLEDGE", **{key: status[key] for key in wanted})

    def launch(self, offer: Body, task_id: str) -> None:
        task = {
            "name": task_id,
            "task_id": {"value": task_id},
            "agent_id": offer["agent_id"],
            "resources": [scalar("cpus", 1), scalar("mem", 64)],
            "command": {"value": "sleep 600"},
        }
        operations = [{"type": "LAUNCH", "launch": {"task_infos": [task]}}]
        self.call("ACCEPT", offer_ids=[offer["id"]], operations=operations)

    def call(self, kind: str, **body: Any) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        call = {"type": kind, "framework_id": {"value": self.id}, kind.lower(): body}
        headers = {"Content-Type": "application/json", "Mesos-Stream-Id": self._stream}
        connection.request("POST", "/api/v1/scheduler", json.dumps(call), headers)
        status = connection.getresponse().status
        connection.close()
        return status

    def close(self) -> None:
        with suppress(OSError):  # the master has closed it
            self._socket.shutdown(socket.SHUT_RDWR)
        self._reader.join()
        self._answer.close()
        self._connection.close()

    def _of(self, kind: str) -> list[Body]:
        return [event for event in list(self.events) if event["type"] == kind]


def scalar(name: str, value: float) -> Body:
    return {"name": name, "type": "SCALAR", "scalar": {"value": value}}
