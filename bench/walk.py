"""Count the functions, calls and file-to-file hops of a step: idle, and with one pod.

    python bench/walk.py

The in-process plane runs on the NumPy tier over a memory store. A hop is a call from a function of
one source file to a function of another.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import stretto
from stretto.api.wire.kinds import POD
from stretto.testing import Harness, make_node, make_pod

PACKAGE = f"{Path(stretto.__file__).parent}/"
"""Folder of the counted functions; a checkout may have the name of the package."""


class Walk:
    """The calls during a trace."""

    def __init__(self) -> None:
        self.calls = 0
        self.hops = 0
        self.functions: set[tuple[str, str]] = set()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Process a profile event of the interpreter."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        self.calls += 1
        self.functions.add((code.co_filename, code.co_qualname))
        back = frame.f_back
        self.hops += back is not None and back.f_code.co_filename != code.co_filename

    def row(self) -> str:
        """The figures as one line."""
        files = {name for name, _ in self.functions}
        sizes = f"{len(self.functions):5} functions {len(files):4} files"
        return f"{self.calls:6} calls {sizes} {self.hops:6} hops"


def walk(act: Callable[[], object]) -> Walk:
    """Trace the calls of one action."""
    found = Walk()
    sys.setprofile(found)
    try:
        act()
    finally:
        sys.setprofile(None)
    return found


def known_class() -> tuple[Walk, Walk]:
    """The calls of an idle step, and those from the creation of a pod to the echo of its bind."""
    harness = Harness(
        [make_node(f"n{i}", cpu="16", memory="64Gi") for i in range(8)], config={"tier": "numpy"}
    )
    harness.put(POD, *(make_pod(f"warm-{i}", cpu="1") for i in range(3)))
    harness.settle()
    plane = harness.plane

    def one_pod() -> None:
        harness.put(POD, make_pod("one", cpu="1"))
        plane.run_until_idle()

    return walk(plane.step), walk(one_pod)


def main() -> None:
    """Print one line for each action."""
    idle, one_pod = known_class()
    print("idle step      ", idle.row())
    print("pod, known class", one_pod.row())


if __name__ == "__main__":
    main()
