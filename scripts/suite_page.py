"""Write the results of Kubernetes' own tests against ``stretto up``.

python scripts/suite_page.py            write the page, and the table of the guide
python scripts/suite_page.py --check    exit with 9 if one of them is stale
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from written import write_or_check

from stretto_lab.control_plane.results import (
    RECORD,
    RecordedTest,
    SuiteRecord,
    SuiteState,
    read_record,
)
from stretto_lab.control_plane.selection import GROUPS, group_of

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "parity" / "kubernetes-e2e.md"
GUIDE = ROOT / "docs" / "guides" / "local-cluster.md"
BEGIN, END = "<!-- suite: begin -->", "<!-- suite: end -->"
INTRODUCTION = """\
# Kubernetes' own tests

This page lists the end-to-end tests of Kubernetes {version} of the groups sig-api-machinery,
sig-apps and sig-cli, each with its result against [`stretto up`](../guides/local-cluster.md). It is
for users who want to know on which behaviour of Kubernetes they can rely. `make kube-suite` runs
the tests and writes this page from `{record}`, which also contains the
commit and the duration of each test. The tests of the scheduler are part of
[the parity with kube-scheduler](kube-scheduler.md).
"""


def summary(record: SuiteRecord) -> Iterator[str]:
    """The table of the guide: results by group."""
    yield "| group | tests | passed | failed | not run | conformance tests | of which passed |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for group in GROUPS:
        tests = [each for each in record.tests if group_of(each.name) == group]
        counts = Counter(each.state for each in tests)
        conformance = [each for each in tests if "[Conformance]" in each.name]
        passed = sum(each.state is SuiteState.PASSED for each in conformance)
        figures = [len(tests), *(counts[each] for each in SuiteState), len(conformance), passed]
        yield f"| {group} | {' | '.join(map(str, figures))} |"


def reasons(record: SuiteRecord) -> Iterator[str]:
    """The table of the guide: reasons of tests that did not pass."""
    found = Counter(
        (each.state.value, each.why) for each in record.tests if each.state is not SuiteState.PASSED
    )
    yield "| result | why | tests |"
    yield "| --- | --- | --- |"
    for (state, why), count in sorted(found.items()):
        yield f"| {state} | {escaped(why)} | {count} |"


def page(record: SuiteRecord) -> Iterator[str]:
    """The lines of the page."""
    dates = sorted({each.date for each in record.tests if each.date})
    yield INTRODUCTION.format(version=record.version, record=RECORD)
    yield f"The results are of {' and '.join(dict.fromkeys((dates[0], dates[-1])))}."
    yield ""
    yield from summary(record)
    for group in GROUPS:
        yield f"\n## {group}\n"
        yield from rows([each for each in record.tests if group_of(each.name) == group])


def rows(tests: Sequence[RecordedTest]) -> Iterator[str]:
    """A table of tests."""
    yield "| test | result | why |"
    yield "| --- | --- | --- |"
    for each in tests:
        name = re.sub(r"^\[[^\]]*\] ", "", each.name)
        yield f"| {escaped(name)} | {each.state.value} | {escaped(each.why)} |"


def escaped(text: str) -> str:
    """A text in a cell of a table."""
    return re.sub(r"([|<>*_\[\]`~])", r"\\\1", text)


def documents(record: SuiteRecord) -> dict[Path, str]:
    """The generated documents by path."""
    before, _, rest = GUIDE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    lines = [BEGIN, "", *summary(record), "", *reasons(record), "", END]
    text = "\n".join(page(record)) + "\n"
    return {PAGE: text, GUIDE: before + "\n".join(lines) + after}


def main() -> int:
    """Write the documents, or only compare."""
    return write_or_check(documents(read_record(ROOT / RECORD)), "scripts/suite_page.py")


if __name__ == "__main__":
    sys.exit(main())
