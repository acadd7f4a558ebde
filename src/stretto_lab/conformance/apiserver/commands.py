"""Recorded sessions of kubectl, repeated with the real program against the API server over HTTP."""

import json
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from stretto.base.errors import InputError
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto_lab.conformance.apiserver.matching import Bindings, Difference, differences
from stretto_lab.conformance.apiserver.served import ServedCluster
from stretto_lab.conformance.apiserver.sessions import RecordedLine, SessionSetup
from stretto_lab.control_plane import tools

_SECONDS: Final = 20.0
_ATTEMPTS: Final = 40
_TIMED_OUT: Final = 124
_GAP: Final = re.compile(r"(?<=\S) {2,}")
"""The gap between columns, whose width depends on variable values."""
_TEMPLATE: Final = re.compile(r"(?<=[-=])[bcdfghjklmnpqrstvwxz2456789]{7,10}(?=[-\s]|$)")
"""The hash of a pod template in names and labels, which Kubernetes computes from Go's memory."""
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


class CommandReplay:
    """One session of kubectl: its own server, a folder of files, and the commands."""

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
        self._node = ""

    def close(self) -> None:
        """Stop the server and remove the files."""
        self._served.close()
        self._folder.cleanup()

    def differences(self, line: RecordedLine) -> Iterator[Difference]:
        """Differences in the exit status and the printed output of a command."""
        action = line.action or {}
        if "kubectl" not in action:
            self._wait(action)
            return
        self._write_files(line, action)
        done = self._run(action)
        if done.returncode != line.exit:
            text = (done.stderr or done.stdout)[:400]
            yield "exit", line.exit, f"{done.returncode} {text}"
            return
        for name, want, got in (
            ("stdout", line.stdout, done.stdout),
            ("stderr", line.stderr, done.stderr),
        ):
            yield from differences(_plain(want), _plain(self._lines(got)), self._bindings, name)

    def _run(self, action: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        folder = Path(self._folder.name)
        words = [self._word(each) for each in action["kubectl"]]
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

    def _write_files(self, line: RecordedLine, action: dict[str, Any]) -> None:
        """Write the files of a command; files of earlier commands stay."""
        folder = Path(self._folder.name)
        files: dict[str, str] = action.get("files") or {}
        for name, text in files.items():
            path = folder / name
            path.write_text(text)
            path.chmod(0o755)
        words = action["kubectl"]
        named = [word for flag, word in pairwise(words) if flag == "-f"]
        for name in named:
            applied = "\n---\n".join(_applied(line))
            if name != "-" and applied and not (folder / name).exists():
                (folder / name).write_text(applied)

    def _word(self, word: str) -> str:
        """A word of a command; a variable word is the node of the pod without an owner."""
        if word != "${VARIES}":
            return str(self._bindings.filled(word))
        self._node = self._node or self._node_of_bare_pod()
        return self._node

    def _node_of_bare_pod(self) -> str:
        answer = self._served.handle(ApiRequest("GET", "/api/v1/pods"))
        assert isinstance(answer, ApiResponse)
        bare = (
            each["spec"].get("nodeName", "")
            for each in json.loads(answer.body)["items"]
            if not each["metadata"].get("ownerReferences")
        )
        return next(bare, "")

    def _lines(self, text: str) -> list[str]:
        """Printed lines with the port and the folder of the recording."""
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


def _applied(line: RecordedLine) -> Iterator[str]:
    """The objects of a file that is not in the recording, from the requests of its command."""
    for request in line.requests:
        body = request.get("json") or {}
        notes = (body.get("metadata") or {}).get("annotations") or {}
        if _APPLIED in notes:
            yield str(notes[_APPLIED])


def _plain(value: Any) -> Any:
    """Printed lines with two spaces between columns, and without hashes of templates."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return _TEMPLATE.sub("HASH", _GAP.sub("  ", value)) if isinstance(value, str) else value
