"""Parts of Kubernetes' own end-to-end suite, run against a cluster."""

import subprocess
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
"""Time limit in seconds for the whole suite."""


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
API: Final = SuitePart(
    r"\[sig-api-machinery\].*\[Conformance\]",
    {
        "AdmissionWebhook|ConversionWebhook": "its pods serve webhooks",
        "Aggregator": "its pods serve an API",
        "Slow|Serial|Disruptive": "takes minutes",
        "should mutate a Deployment": "MutatingAdmissionPolicies are served and not applied",
    },
)
"""The tests of the API that every conforming cluster passes."""


APPS: Final = SuitePart(
    r"\[sig-apps\]",
    {
        "Slow|Disruptive|OffByDefault|ContainerRestartRules": "slow, or needs a feature gate",
        "CronJob should (schedule|replace|delete|be able|set|not emit|remove)": "takes minutes",
        "serve a basic image|load-balancer|basic identity": "its pods serve",
        "sometimes fail|policy to ignore|fail the job early|remain pending": "a script with if",
        "despite some failing|FailIndex|only after they have failed": "a script with if or trap",
        "roll backs|not deadlock|partiton1|legacy replacement": "runs commands in pods",
    },
)
"""The tests of workloads that need no commands and no servers in pods."""
CLI: Final = SuitePart(
    r"\[sig-cli\]",
    {
        "Simple pod|Kubectl exec|Kubectl copy|debug custom": "runs commands in pods",
        "Port forwarding|Kubectl logs|Guestbook|Update Demo|services for rc": "its pods serve",
    },
)
"""The tests of kubectl that need neither commands, nor logs, nor servers in pods."""


class SuiteTest(msgspec.Struct, frozen=True, rename={"name": "LeafNodeText", "state": "State"}):
    """The outcome of one test."""

    #: Name of the test.
    name: str
    #: ``passed``, ``failed``, ``skipped`` or another state of Ginkgo.
    state: str
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
    report, log = folder / "report.json", folder / "suite.log"
    command = [
        str(path_of(SUITE)),
        f"--kubeconfig={kubeconfig}",
        f"--kubectl-path={path_of('kubectl')}",
        "--provider=skeleton",
        "--allowed-not-ready-nodes=0",
        "--delete-namespace=true",
        "--dump-logs-on-failure=false",
        f"--ginkgo.skip={'|'.join(part.left_out)}",
        f"--ginkgo.focus={part.focus}",
        f"--ginkgo.json-report={report}",
        f"--ginkgo.flake-attempts={ATTEMPTS}",
        "--ginkgo.no-color",
    ]
    with log.open("wb") as out:
        try:
            subprocess.run(command, stdout=out, stderr=out, timeout=WITHIN, check=False)
        except subprocess.TimeoutExpired as error:
            raise TimeoutExpiredError("the end-to-end suite", str(log)) from error
    if not report.exists():
        raise StrettoError(f"the end-to-end suite wrote no report; see {log}")
    (found,) = msgspec.json.decode(report.read_bytes(), type=list[_SuiteReport])
    tests = [test for test in found.tests if test.type == "It"]
    return SuiteOutcome(
        frozenset(test.title for test in tests if test.state == "passed"),
        {
            test.title: str((test.failure or {}).get("Message", ""))
            for test in tests
            if test.state not in ("passed", "skipped", "pending")
        },
    )
