"""Recorded results of Kubernetes' own tests against ``stretto up``."""

from enum import Enum
from pathlib import Path
from typing import Final

import msgspec

from stretto_lab.control_plane.selection import FAILING, NOT_RUN, reason_in
from stretto_lab.control_plane.upstream import SuiteTest

RECORD: Final = Path("bench/results/kubernetes-e2e.json")
"""The record in the repository."""


class SuiteState(Enum):
    """Result of a test."""

    #: It passed.
    PASSED = "passed"
    #: It failed or did not end in time.
    FAILED = "failed"
    #: It was not run, or skipped itself.
    NOT_RUN = "not run"


class RecordedTest(msgspec.Struct, frozen=True, omit_defaults=True):
    """Result of one test."""

    #: Name of the test.
    name: str
    #: Its result.
    state: SuiteState
    #: Date of the run; empty for a test that did not run.
    date: str = ""
    #: Commit of Stretto; empty for a test that did not run.
    commit: str = ""
    #: Duration in seconds.
    seconds: float = 0.0
    #: Reason why it failed or did not run.
    why: str = ""


class SuiteRecord(msgspec.Struct, frozen=True):
    """Results of all tests."""

    #: Version of Kubernetes.
    version: str
    #: The tests by name.
    tests: list[RecordedTest]

    def updated(
        self, found: list[SuiteTest], names: set[str], date: str, commit: str
    ) -> "SuiteRecord":
        """The record with the results of a run.

        Args:
            found: all tests that the suite reports.
            names: names of the tests that were run.
            date: date of the run.
            commit: commit of Stretto.
        """
        known = {each.name: each for each in self.tests}
        for test in found:
            known.setdefault(test.title, RecordedTest(test.title, SuiteState.NOT_RUN))
            if test.title in names:
                known[test.title] = _recorded(test, date, commit)
        tests = [_with_reason(known[name]) for name in sorted(known)]
        return SuiteRecord(self.version, tests)

    def passed(self) -> list[str]:
        """Names of the tests that passed."""
        return [each.name for each in self.tests if each.state is SuiteState.PASSED]


def read_record(path: Path) -> SuiteRecord:
    """Read a record."""
    return msgspec.json.decode(path.read_bytes(), type=SuiteRecord)


def write_record(path: Path, record: SuiteRecord) -> None:
    """Write a record, one line per test."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")


def _recorded(test: SuiteTest, date: str, commit: str) -> RecordedTest:
    seconds = round(test.run_time / 1e9, 1)
    why = str((test.failure or {}).get("Message", "")).partition("\n")[0][:200]
    if test.state == "passed":
        return RecordedTest(test.title, SuiteState.PASSED, date, commit, seconds)
    if test.state in ("skipped", "pending"):
        return RecordedTest(test.title, SuiteState.NOT_RUN, why=why)
    return RecordedTest(test.title, SuiteState.FAILED, date, commit, seconds, why)


def _with_reason(test: RecordedTest) -> RecordedTest:
    """A test with the stated reason instead of the message of the suite."""
    left_out = reason_in(NOT_RUN, test.name)
    if left_out:
        return RecordedTest(test.name, SuiteState.NOT_RUN, why=left_out)
    why = reason_in(FAILING, test.name) if test.state is SuiteState.FAILED else ""
    return msgspec.structs.replace(test, why=why) if why else test
