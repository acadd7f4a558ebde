"""Parts of Kubernetes' own end-to-end suite, run against a cluster."""

import re
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec

from stretto.base.errors import StrettoError, TimeoutExpiredError
from stretto_lab.control_plane.tools import path_of

SUITE: Final = "e2e.test"
"""The program with the tests."""
ATTEMPTS: Final = 3
"""Attempts of a failing test, because kwok deletes pods by name and may remove a new pod."""
WITHIN: Final = 1800.0
"""Time limit in seconds for one run of the suite."""
_GRACE: Final = 60.0
"""Seconds that the suite has to end after its time limit."""


class SuitePart(msgspec.Struct, frozen=True):
    """Selection of tests."""

    #: Regular expression of the tests.
    focus: str
    #: Regular expressions of excluded tests, with the reason.
    left_out: dict[str, str]


SCHEDULING: Final = SuitePart(
    r"\[sig-scheduling\]",
    {
        "NvidiaGPU": "installs drivers on the nodes",
        "Workload": "needs a feature gate of the API server",
    },
)
"""The tests of the scheduler."""


class SuiteTest(
    msgspec.Struct,
    frozen=True,
    rename={"name": "LeafNodeText", "state": "State", "run_time": "RunTime"},
):
    """The outcome of one test."""

    #: Name of the test.
    name: str
    #: ``passed``, ``failed``, ``skipped`` or another state of Ginkgo.
    state: str
    #: Duration in nanoseconds.
    run_time: int = 0
    #: Names of the enclosing containers.
    containers: list[str] | None = msgspec.field(name="ContainerHierarchyTexts", default=None)
    #: ``It`` for a test; other types are set-up steps.
    type: str = msgspec.field(name="LeafNodeType", default="")
    #: The failure; ``None`` for a test that did not fail.
    failure: dict[str, object] | None = msgspec.field(name="Failure", default=None)

    @property
    def title(self) -> str:
        """The names of the containers and of the test."""
        return " ".join([*(self.containers or ()), self.name])


class _SuiteReport(msgspec.Struct, frozen=True):
    tests: list[SuiteTest] = msgspec.field(name="SpecReports")


class SuiteOutcome(msgspec.Struct, frozen=True):
    """The outcomes of all tests that ran."""

    #: Names of the passed tests.
    passed: frozenset[str]
    #: Messages of the failed tests by name.
    failed: dict[str, str]


def run_suite(kubeconfig: Path, folder: Path, part: SuitePart = SCHEDULING) -> SuiteOutcome:
    """Run tests against a cluster, one after another.

    Args:
        kubeconfig: kubeconfig of a cluster with nodes, controllers and a scheduler.
        folder: folder for the report and the log.
        part: the selection of tests.

    Raises:
        TimeoutExpiredError: the suite does not end in time.
        StrettoError: the suite cannot run.
    """
    report = folder / "report.json"
    arguments = [
        f"--ginkgo.skip={'|'.join(part.left_out)}",
        f"--ginkgo.focus={part.focus}",
        f"--ginkgo.flake-attempts={ATTEMPTS}",
    ]
    _run([_command(kubeconfig, report, arguments)], folder)
    tests = _tests(report)
    return SuiteOutcome(
        frozenset(test.title for test in tests if test.state == "passed"),
        {
            test.title: str((test.failure or {}).get("Message", ""))
            for test in tests
            if test.state not in ("passed", "skipped", "pending")
        },
    )


def listed_tests(folder: Path, focus: str) -> list[SuiteTest]:
    """The tests that an expression selects, without running them.

    Raises:
        StrettoError: the suite cannot run.
    """
    report = folder / "list.json"
    arguments = ["--ginkgo.dry-run", f"--ginkgo.focus={focus}"]
    _run([_command(folder / "none", report, arguments)], folder)
    return [test for test in _tests(report) if test.state == "passed"]


def run_tests(
    kubeconfig: Path, folder: Path, names: Sequence[str], processes: int = 1
) -> list[SuiteTest]:
    """Run tests by name against a cluster, in several processes.

    Args:
        kubeconfig: kubeconfig of a cluster with nodes, controllers and a scheduler.
        folder: folder for the reports and the logs.
        names: names of the tests.
        processes: number of tests that run at the same time.

    Raises:
        TimeoutExpiredError: the suite does not end in time.
        StrettoError: the suite cannot run.
    """
    shares = [names[number::processes] for number in range(processes)]
    reports = [folder / f"report-{number}.json" for number in range(processes)]
    commands = [
        _command(kubeconfig, report, [f"--ginkgo.focus={_focus(share)}"])
        for report, share in zip(reports, shares, strict=True)
        if share
    ]
    _run(commands, folder)
    return [
        test
        for report, share in zip(reports, shares, strict=True)
        if share
        for test in _tests(report)
        if test.title in share
    ]


def _focus(names: Sequence[str]) -> str:
    """An expression of Go that selects tests by their whole names."""
    return f"({'|'.join(re.escape(each).replace(chr(92) + ' ', ' ') for each in names)})( |$)"


def _command(kubeconfig: Path, report: Path, arguments: Sequence[str]) -> list[str]:
    return [
        str(path_of(SUITE)),
        f"--kubeconfig={kubeconfig}",
        f"--kubectl-path={path_of('kubectl')}",
        "--provider=skeleton",
        "--allowed-not-ready-nodes=0",
        "--delete-namespace=true",
        "--dump-logs-on-failure=false",
        f"--ginkgo.json-report={report}",
        "--ginkgo.no-color",
        f"--ginkgo.timeout={WITHIN:.0f}s",
        *arguments,
    ]


def _run(commands: Sequence[list[str]], folder: Path) -> None:
    """Run programs at the same time, each with a log.

    Raises:
        TimeoutExpiredError: one does not end in time.
    """
    with ExitStack() as stack:
        running = []
        for number, command in enumerate(commands):
            out = stack.enter_context((folder / f"suite-{number}.log").open("wb"))
            process = stack.enter_context(subprocess.Popen(command, stdout=out, stderr=out))
            stack.callback(process.kill)
            running.append(process)
        for process in running:
            try:
                process.wait(WITHIN + _GRACE)
            except subprocess.TimeoutExpired as error:
                raise TimeoutExpiredError("the end-to-end suite", str(folder)) from error


def _tests(report: Path) -> list[SuiteTest]:
    """The tests in a report.

    Raises:
        StrettoError: there is no report.
    """
    if not report.exists():
        raise StrettoError(f"the end-to-end suite wrote no report; see the logs in {report.parent}")
    (found,) = msgspec.json.decode(report.read_bytes(), type=list[_SuiteReport])
    return [test for test in found.tests if test.type == "It"]
