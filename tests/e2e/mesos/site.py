"""A master and agents as processes, which a test kills and starts again."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

RESOURCES = "cpus:2;mem:1024;disk:1000;ports:[31000-32000]"
PROGRAM = "import sys; from stretto.cli.start import main; sys.argv[0] = 'stretto'; main()"


class MesosSite:
    """One master and its agents on this machine."""

    def __init__(self, directory: Path, *options: str) -> None:
        self._directory = directory
        self._options = options
        self.port = _free_port()
        self._ports: dict[str, int] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start_master(self) -> None:
        state = str(self._directory / "master")
        self._start(
            "master", "master", "--port", str(self.port), "--work-dir", state, *self._options
        )
        self._wait("/health")

    def start_agent(self, name: str) -> None:
        directory = str(self._directory / name)
        port = self._ports.setdefault(name, _free_port())
        options = ["--master", f"http://{self.address}", "--work-dir", directory]
        options += ["--port", str(port), "--hostname", name, "--resources", RESOURCES]
        self._start(name, "agent", "--tasks", *options)

    def kill(self, name: str) -> None:
        process = self._processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def close(self) -> None:
        for name in list(self._processes):
            self.kill(name)

    def outputs(self) -> list[str]:
        """Return the output of all tasks, of commands and of executors."""
        commands = self._directory.glob("a*/tasks/*/*/sandbox/stdout")
        own = self._directory.glob("a*/executors/*/*/*/sandbox/task-*")
        return [path.read_text() for path in (*commands, *own)]

    def _start(self, name: str, *line: str) -> None:
        with (self._directory / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, *line],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _wait(self, path: str) -> None:
        limit = time.monotonic() + 30
        while time.monotonic() < limit:
            try:
                with urlopen(f"http://{self.address}{path}", timeout=1):
                    return
            except OSError:
                time.sleep(0.1)
        raise TimeoutError(f"the master did not answer {path}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
