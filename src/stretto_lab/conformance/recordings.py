"""Recorded cases of any system; the content of the file determines the system."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from stretto_lab.conformance import family_cases, kube_cases
from stretto_lab.conformance.apiserver import cases as session_cases
from stretto_lab.conformance.apiserver import sessions
from stretto_lab.conformance.apiserver.cases import ExchangeCase
from stretto_lab.conformance.family_cases import FamilyCase
from stretto_lab.conformance.kube_cases import ConformanceCase
from stretto_lab.conformance.mesos import cases as mesos_cases
from stretto_lab.conformance.mesos.cases import SessionCase
from stretto_lab.conformance.mesos.sessions import is_mesos
from stretto_lab.conformance.offers import cases as offer_cases
from stretto_lab.conformance.offers.cases import OfferCase
from stretto_lab.conformance.report import CaseComparison, ConformanceReport, compare_all
from stretto_lab.conformance.wire import cases as wire_cases
from stretto_lab.conformance.wire.cases import OutcomeCase

AnyCase: TypeAlias = (
    ConformanceCase | FamilyCase | OfferCase | OutcomeCase | ExchangeCase | SessionCase
)


def read(path: Path) -> Iterator[AnyCase]:
    """Read the cases of a file, plain or gzip.

    Raises:
        InputError: the file cannot be read, or a line is not a case; the message contains the line.
    """
    if is_mesos(path):
        return mesos_cases.read(path)
    if sessions.is_sessions(path):
        return session_cases.read(path)
    if wire_cases.is_wire(path):
        return wire_cases.read(path)
    if offer_cases.is_offers(path):
        return offer_cases.read(path)
    if family_cases.is_family(path):
        return family_cases.read(path)
    return kube_cases.read(path)


def read_all(paths: Sequence[Path], *, real: bool) -> Iterator[AnyCase]:
    """Read the cases of files; ``real`` replays recorded wire traffic on API servers.

    Raises:
        InputError: a file cannot be read, or is not wire traffic that can run on API servers.
    """
    if real:
        from stretto.base.clock import WallClock
        from stretto_lab.conformance.wire.real import cases as real_cases

        return real_cases.read_all(paths, WallClock())
    return (case for path in paths for case in read(path))


def run(cases: Iterable[AnyCase], on_case: Callable[[int], None]) -> ConformanceReport:
    """Decide and compare every case; ``on_case`` receives the number of finished cases."""
    return compare_all(cases, _compare, on_case)


def _compare(case: AnyCase) -> CaseComparison:
    if isinstance(case, SessionCase):
        return CaseComparison(*mesos_cases.compare(case))
    if isinstance(case, ExchangeCase):
        return session_cases.compare(case)
    if isinstance(case, OutcomeCase):
        return CaseComparison(*wire_cases.compare(case))
    if isinstance(case, OfferCase):
        return CaseComparison(offer_cases.compare(case))
    if isinstance(case, FamilyCase):
        return CaseComparison(family_cases.compare(case))
    return CaseComparison(kube_cases.compare(case))
