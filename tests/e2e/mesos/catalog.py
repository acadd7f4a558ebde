"""The clients that run here: how each is installed, and the line that runs its framework."""

import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tests.e2e.mesos.clients import go_program, node_with, python_with

CACHE: Final = Path.home() / ".cache" / "stretto-mesos-clients"
PROGRAMS: Final = Path(__file__).with_name("programs")


class FrameworkLine(NamedTuple):
    """Command that starts a framework; address, tasks and seconds follow."""

    #: Program and first arguments.
    words: tuple[str, ...]
    #: Variables beside those of the tests.
    variables: Mapping[str, str] = {}


def pymesos() -> FrameworkLine:
    python = python_with(CACHE / "pymesos", parser=True)
    return FrameworkLine((str(python), str(PROGRAMS / "pymesos_framework.py")))


def avmesos() -> FrameworkLine:
    return _requests("avmesos", "avmesos==0.4.2")


def mesoshttp() -> FrameworkLine:
    return _requests("mesoshttp", "mesoshttp==0.4.2")


def task_processing() -> FrameworkLine:
    packages = ("task_processing==1.4.0", "requests")
    python = python_with(CACHE / "task_processing", *packages, parser=True)
    return FrameworkLine((str(python), str(PROGRAMS / "yelp_framework.py")))


def mesos_framework() -> FrameworkLine:
    modules = node_with(CACHE / "npm", "mesos-framework@0.5.3")
    variables = {"NODE_PATH": str(modules), "LOGS": tempfile.gettempdir()}
    return FrameworkLine(("node", str(PROGRAMS / "framework.js")), variables)


def msh() -> FrameworkLine:
    program = go_program(CACHE / "mesos-go", "msh")
    return FrameworkLine((sys.executable, str(PROGRAMS / "msh_runs.py"), str(program)))


def go_executor() -> Path:
    return go_program(CACHE / "mesos-go-executor", "example-executor")


def _requests(module: str, package: str) -> FrameworkLine:
    python = python_with(CACHE / module, package)
    return FrameworkLine((str(python), str(PROGRAMS / "requests_framework.py"), module))


CLIENTS: Final[Mapping[str, Callable[[], FrameworkLine]]] = {
    each.__name__: each
    for each in (pymesos, avmesos, mesoshttp, task_processing, mesos_framework, msh)
}
"""Clients by name; each raises `ClientMissingError` where it cannot be installed."""
