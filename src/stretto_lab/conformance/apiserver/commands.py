"""Recorded sessions of kubectl, repeated with the real program against the API server over HTTP."""

import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from stretto.base.errors import InputError
from stretto.web.api.message import ApiRequest
from stretto_lab.conformance.apiserver.matching import Bindings, Difference, differences
from stretto_lab.conformance.apiserver.served import ServedCluster
from stretto_lab.conformance.apiserver.sessions import RecordedLine, SessionSetup
from stretto_lab.control_plane import tools

_SECONDS: Final = 20.0
_ATTEMPTS: Final = 40
_TIMED_OUT: Final = 124


class CommandReplay:
    """One session of kubectl: a server of its own, a folder of files, and the commands."""

    def __init__(self, setup: SessionSetup) -> None:
        """Start the server.

        Raises:
            InputError: kubectl is not built.
        """
        self._kubectl = tools.path_of("kubectl")
        if not self._kubectl.exists():
            hint = "build it: make test-kube"
            raise InputError("kubectl", str(self._kubectl), "the program of a recording", hint)
        self._folder = tempfile.TemporaryDirectory(prefix="stretto-kubectl-")
        folder = Path(self._folder.name)
        self._served = ServedCluster(folder / "kubeconfig", full=setup.server == "full")
        self._environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": self._folder.name,
            "TMPDIR": self._folder.name,
            "KUBECONFIG": str(folder / "kubeconfig"),
        }
        self._bindings = Bindings({}, "")

    def close(self) -> None:
        """Stop the server and remove the files."""
        self._served.close()
        self._folder.cleanup()

    def differences(self, line: RecordedLine) -> Iterator[Difference]:
        """Where the exit status and the printed output of a command differ."""
        action = line.action or {}
        if "kubectl" not in action:
            self._wait(action)
            return
        done = self._run(action)
        if done.returncode != line.exit:
            text = (done.stderr or done.stdout)[:400]
            yield "exit", line.exit, f"{done.returncode} {text}"
            return
        for name, want, got in (
            ("stdout", line.stdout, done.stdout),
            ("stderr", line.stderr, done.stderr),
        ):
            yield from differences(want, self._lines(got), self._bindings, name)

    def _run(self, action: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        folder = Path(self._folder.name)
        for name, text in (action.get("files") or {}).items():
            path = folder / name
            path.write_text(text)
            path.chmod(0o755)
        words = [self._bindings.filled(each) for each in action["kubectl"]]
        command = [str(self._kubectl), *words]
        try:
            return subprocess.run(
                command,
                cwd=folder,
                env={**self._environment, **(action.get("env") or {})},
                input=action.get("stdin", ""),
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, _TIMED_OUT, "", "timed out")

    def _lines(self, text: str) -> list[str]:
        """Printed lines with the port and the folder as in the recording."""
        shown = text.replace(f":{self._served.port}", ":${PORT}").replace(
            f"{self._folder.name}/LIVE", "LIVE"
        )
        shown = shown.replace(f"{self._folder.name}/MERGED", "MERGED")
        shown = shown.replace(self._folder.name, "${DIR}")
        return shown.splitlines()

    def _wait(self, action: dict[str, Any]) -> None:
        pause = threading.Event()
        if "sleep_s" in action:
            pause.wait(float(action["sleep_s"]))
            return
        for _ in range(_ATTEMPTS if "path" in action else 0):
            answer = self._served.handle(ApiRequest(action["method"], action["path"]))
            if answer.status == action.get("status", 200):
                return
            pause.wait(0.1)
