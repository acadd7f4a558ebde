"""Client libraries over ``stretto up``: create, list, watch again, patch, apply and delete."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from stretto_lab.control_plane.tools import KUBERNETES
from tests.e2e.mesos.clients import ClientMissingError, node_with, python_with

pytestmark = [pytest.mark.kube, pytest.mark.slow, pytest.mark.timeout(900)]

PROGRAMS: Final = Path(__file__).parent / "programs"
PYTHON: Final = "kubernetes==36.0.3"
NODE: Final = ("@kubernetes/client-node@1.3.0", "typescript@5.9.3", "@types/node@20.9.5")
TYPESCRIPT: Final = ["--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck"]
GO: Final = KUBERNETES.replace("1.", "v0.", 1)
GO_MODULE: Final = f"""module stretto.invalid/client

go 1.26.0

require (
\tk8s.io/api {GO}
\tk8s.io/apimachinery {GO}
\tk8s.io/client-go {GO}
)
"""


def python(folder: Path) -> list[str]:
    return [str(python_with(folder, PYTHON)), str(PROGRAMS / "client.py")]


def typescript(folder: Path) -> list[str]:
    modules = node_with(folder, *NODE)
    shutil.copy(PROGRAMS / "client.ts", folder)
    compiler = str(modules / "typescript" / "bin" / "tsc")
    _run(["node", compiler, *TYPESCRIPT, str(folder / "client.ts")])
    return ["node", str(folder / "client.js")]


def go(folder: Path) -> list[str]:
    if shutil.which("go") is None:
        raise ClientMissingError("go is not installed")
    folder.mkdir()
    (folder / "go.mod").write_text(GO_MODULE)
    shutil.copy(PROGRAMS / "client.go", folder)
    _run(["go", "build", "-C", str(folder), "-mod=mod", "-o", "client", "."])
    return [str(folder / "client")]


def _run(line: list[str]) -> None:
    done = subprocess.run(line, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise ClientMissingError((done.stderr or done.stdout).strip()[-500:])


@pytest.mark.parametrize("install", [python, go, typescript])
def test_a_client_library_works_as_on_kubernetes(
    install: Callable[[Path], list[str]], kubeconfig: Path, tmp_path: Path
) -> None:
    try:
        program = install(tmp_path / "client")
    except ClientMissingError as error:
        pytest.skip(f"the client of {install.__name__} cannot be had: {error}")
    env = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
    line = [*program, str(kubeconfig)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=env, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "listed": ["a", "b", "c"],
        "watched": [["MODIFIED", "a"], ["ADDED", "d"]],
        "patched": "2",
        "applied": [200, 409, 200],
        "gone": 404,
    }
