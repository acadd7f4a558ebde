"""kill -9 under load: acknowledged writes are there again, and no watch has seen more."""

import http.client
import json
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from stretto.serving.sockets import LOOPBACK, listening

pytestmark = pytest.mark.slow
CHILD = Path(__file__).with_name("served_child.py")
MAPS = "/api/v1/namespaces/default/configmaps"
WRITERS = 8
LIVES = 3


class Client:
    """Sends requests with the token of the administrator."""

    def __init__(self, path: Path, port: int) -> None:
        keys = path.with_suffix(".keys")
        trust = ssl.create_default_context(cafile=str(keys / "ca.crt"))
        self.connection = http.client.HTTPSConnection(LOOPBACK, port, timeout=10, context=trust)
        self.headers = {"Authorization": f"Bearer {(keys / 'token').read_text()}"}

    def send(self, method: str, target: str, body: Any = None) -> Any:
        headers = {**self.headers, "Content-Type": "application/json"}
        self.connection.request(method, target, body and json.dumps(body), headers)
        return json.loads(self.connection.getresponse().read())

    def close(self) -> None:
        self.connection.close()

    def watched(self, version: str, found: list[Any]) -> None:
        """Collect events until the server is gone."""
        target = f"{MAPS}?watch=1&resourceVersion={version}"
        self.connection.request("GET", target, headers=self.headers)
        answer = self.connection.getresponse()
        with answer:
            while line := answer.readline():
                found.append(json.loads(line))


@contextmanager
def served(path: Path) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """A server until the block kills it."""
    with listening(LOOPBACK, 0) as free:
        port = free.getsockname()[1]
    command = [sys.executable, str(CHILD), str(path), str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        yield port, child
        child.kill()


def sent(path: Path, port: int, method: str, target: str, body: Any = None) -> Any:
    """The answer to one request."""
    with closing(Client(path, port)) as client:
        return client.send(method, target, body)


def written(path: Path, port: int, prefix: str, made: dict[str, str]) -> None:
    """Create objects until the server is gone; notes each acknowledged one."""
    with suppress(OSError, http.client.HTTPException), closing(Client(path, port)) as client:
        for number in range(100_000):
            name = f"{prefix}-{number}"
            answer = client.send("POST", MAPS, {"metadata": {"name": name}})
            made[name] = answer["metadata"]["resourceVersion"]


def watched(path: Path, port: int, version: str, found: list[Any]) -> None:
    with (
        suppress(OSError, ValueError, http.client.HTTPException),
        closing(Client(path, port)) as client,
    ):
        client.watched(version, found)


def test_nothing_acknowledged_or_seen_is_lost(tmp_path: Path) -> None:
    path, made, seen = tmp_path / "store.db", dict[str, str](), list[Any]()
    for life in range(LIVES):
        with served(path) as (port, child):
            listed = sent(path, port, "GET", MAPS)
            present = {each["metadata"]["name"] for each in listed["items"]}
            assert set(made) <= present
            assert {each["object"]["metadata"]["name"] for each in seen} <= present
            version = listed["metadata"]["resourceVersion"]
            threads = [
                threading.Thread(target=written, args=(path, port, f"m{life}-{number}", made))
                for number in range(WRITERS)
            ]
            threads.append(threading.Thread(target=watched, args=(path, port, version, seen)))
            for each in threads:
                each.start()
            time.sleep(0.7)
            child.kill()
            for each in threads:
                each.join()
    assert len(made) > WRITERS * LIVES


def test_a_watch_from_before_a_kill_starts_over(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with served(path) as (port, _):
        version = sent(path, port, "GET", MAPS)["metadata"]["resourceVersion"]
        sent(path, port, "POST", MAPS, {"metadata": {"name": "made"}})
    with served(path) as (port, _):
        answer = sent(path, port, "GET", f"{MAPS}?watch=1&resourceVersion={version}")
    assert (answer["type"], answer["object"]["code"]) == ("ERROR", 410)
