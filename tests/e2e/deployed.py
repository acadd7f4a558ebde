"""The documented installation: the commands of a page, and the deployed scheduler.

The test cluster has no kubelet, so the container of the Deployment is started as a process with its
arguments, its ConfigMap and the token of its service account.
"""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from stretto_lab.control_plane.cluster import ControlPlane
from stretto_lab.control_plane.tools import path_of
from tests.e2e.daemon import Daemon, item

ROOT = Path(__file__).resolve().parents[2]
ACCOUNT = "system:serviceaccount:kube-system:stretto-scheduler"
_BLOCK = re.compile(r"(?:<!--- (.*?) -->\n)?```sh\n(.*?)```", re.DOTALL)


class Block(NamedTuple):
    """A shell block of a page, with its marker."""

    mark: str
    text: str


LONGEST = 300.0
"""Timeout of a block in seconds; the longest takes fifteen."""


def blocks(page: Path) -> Iterator[Block]:
    """The shell blocks of a page, in order."""
    for mark, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
        yield Block(mark, text)


def shell(plane: ControlPlane, text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run commands in the clone, with the cluster's kubectl and helm, as its administrator."""
    tools = [str(path_of(name).parent) for name in ("kubectl", "helm")]
    environment = {
        "PATH": os.pathsep.join([*tools, os.environ["PATH"]]),
        "KUBECONFIG": str(plane.kubeconfig),
        "HOME": str(folder),
        **{f"HELM_{name}_HOME": str(folder / name) for name in ("CACHE", "CONFIG", "DATA")},
    }
    command = ["bash", "-euo", "pipefail", "-c", text]
    try:
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LONGEST
        )
    except subprocess.TimeoutExpired as error:
        parts = "\n".join(f"{name}:\n{part.log_tail()}" for name, part in plane.parts.items())
        raise AssertionError(f"{text}\nprinted {error.stdout!r}, and timed out\n{parts}") from error


class Deployed(Daemon):
    """One replica of a Deployment of the cluster."""

    def __init__(self, plane: ControlPlane, folder: Path, name: str = "stretto-scheduler") -> None:
        found = item(plane, f"/apis/apps/v1/namespaces/kube-system/deployments/{name}")
        spec = found["spec"]["template"]["spec"]
        container = spec["containers"][0]
        settings = spec["volumes"][0]["configMap"]["name"]
        data = item(plane, f"/api/v1/namespaces/kube-system/configmaps/{settings}")["data"]
        folder.mkdir()
        for file, text in data.items():
            (folder / file).write_text(text, encoding="utf-8")
        places = [each["mountPath"] for each in container["volumeMounts"][:2]]
        words = [_moved(word, places, folder) for word in container["args"]]
        makes = next(each for each in spec["initContainers"] if each["name"] == "certificate")
        command = [_moved(word, places, folder) for word in makes["command"]]
        subprocess.run(command, check=True, capture_output=True)
        more = [word for word in words[1:] if not word.startswith(("--bind-address", "--log"))]
        account = spec["serviceAccountName"]
        reply = shell(plane, f"kubectl -n kube-system create token {shlex.quote(account)}", folder)
        token = reply.stdout.strip()
        assert token, reply.stderr
        kubeconfig = plane.credentials.kubeconfig(account, plane.server, {"token": token})
        super().__init__(kubeconfig, folder / "log", *more, verb=words[0])

    def is_ready(self) -> bool:
        """Return whether the readiness probe succeeds, as leader or standby."""
        return self.page("/readyz")[0] == 200


def _moved(word: str, places: list[str], folder: Path) -> str:
    """A command argument with mount paths replaced by the local folder."""
    for place in places:
        word = word.replace(place, str(folder))
    return word
