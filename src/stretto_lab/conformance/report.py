"""The report of a conformance run: cases, agreement by feature, differing fields."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

SCHEMA: Final = "stretto.conformance/v1"


class RecordedCase(Protocol):
    """The data of a case for a report."""

    @property
    def features(self) -> tuple[str, ...]:
        """Features that the case exercises."""
        ...


CaseT = TypeVar("CaseT", bound=RecordedCase)


class Disagreement(msgspec.Struct, frozen=True):
    """A differing field."""

    #: The case.
    id: str
    #: The field; in a sequence, with the step number.
    field: str
    #: The recorded value.
    want: Any
    #: The value of Stretto.
    got: Any


class CaseComparison(msgspec.Struct, frozen=True):
    """Result of the comparison of one case."""

    #: Differing fields without a reason.
    disagreed: list[Disagreement]
    #: Named rules of intended differences in other fields.
    deviations: set[str] = set()


class FeatureTally(msgspec.Struct):
    """Cases of one feature."""

    #: Cases.
    cases: int = 0
    #: Number of cases that agree in every field.
    agreed: int = 0


class ConformanceReport(msgspec.Struct):
    """Agreement of all cases."""

    #: Cases.
    cases: int = 0
    #: Number of cases that agree in every field.
    agreed: int = 0
    #: Number of cases with only intended differences; unset without such cases.
    deviating: int | UnsetType = UNSET
    #: Cases by the rule of their intended difference; unset without such cases.
    deviations: dict[str, int] | UnsetType = UNSET
    #: Agreement by feature.
    features: dict[str, FeatureTally] = {}
    #: All differing fields.
    disagreed: list[Disagreement] = []
    #: True if the run was interrupted; unset if it was not.
    partial: bool | UnsetType = UNSET

    @property
    def wrong(self) -> int:
        """Number of cases that differ without a reason."""
        return self.cases - self.agreed - (self.deviating or 0)

    def add(self, case: RecordedCase, compared: CaseComparison) -> None:
        """Add a case."""
        found = compared.disagreed
        agrees = not found and not compared.deviations
        self.cases += 1
        self.agreed += agrees
        if compared.deviations:
            self.deviating = (self.deviating or 0) + (not found)
            self.deviations = self.deviations or {}
            for rule in sorted(compared.deviations):
                self.deviations[rule] = self.deviations.get(rule, 0) + 1
        for feature in case.features:
            tally = self.features.setdefault(feature, FeatureTally())
            tally.cases += 1
            tally.agreed += agrees
        self.disagreed += found

    def interrupt(self) -> None:
        """Mark the report as interrupted."""
        self.partial = True


def compare_all(
    cases: Iterable[CaseT],
    compare: Callable[[CaseT], CaseComparison],
    on_case: Callable[[int], None] = lambda _: None,
) -> ConformanceReport:
    """Compare every case; ``on_case`` receives the number of finished cases.

    Ctrl-C ends the run early; the report then contains the finished cases and is partial.
    """
    report = ConformanceReport()
    try:
        for case in cases:
            report.add(case, compare(case))
            on_case(report.cases)
    except KeyboardInterrupt:
        report.interrupt()
    return report


def differences(
    case: str, prefix: str, want: Mapping[str, Any], got: Mapping[str, Any]
) -> Iterator[Disagreement]:
    """The differing fields of ``want`` and ``got``; ``prefix`` precedes their names."""
    for field in sorted(want.keys() | got.keys()):
        if want.get(field) != got.get(field):
            yield Disagreement(case, prefix + field, want.get(field), got.get(field))
