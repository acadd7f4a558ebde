"""Outcomes of recorded wire traffic: placeholders, deviations, totals."""

from stretto_lab.conformance.report import CaseComparison, ConformanceReport, Disagreement
from stretto_lab.conformance.wire.cases import OutcomeCase, compare
from stretto_lab.conformance.wire.placeholders import equal, filled
from stretto_lab.conformance.wire.shared import equal_nodes


def case(want: object, got: object, name: str = "Deployment/web") -> OutcomeCase:
    """A case whose status of one source may differ."""
    others: dict[str, object] = {"federated": {}, "members": {}}
    return OutcomeCase(
        "one-1", "status", {**others, "source": {name: want}}, {**others, "source": {name: got}}
    )


def test_a_recorded_time_equals_any_time() -> None:
    assert equal({"startTime": "<time>"}, {"startTime": "2026-01-01T00:00:00Z"})
    assert not equal({"startTime": "<time>"}, {})


def test_a_relative_time_is_filled_in() -> None:
    assert filled({"until": "<time:+30s>"}, 0.0) == {"until": "1970-01-01T00:00:30Z"}


def test_a_difference_without_a_rule_is_a_disagreement() -> None:
    found, rules = compare(case({"replicas": 1}, {"replicas": 2}))
    assert [each.field for each in found] == ["source.Deployment/web"]
    assert rules == set()


def test_the_status_of_a_daemon_set_differs_on_purpose() -> None:
    wanted = {"numberReady": 0, "desiredNumberScheduled": 0}
    found, rules = compare(case(wanted, {"numberReady": 3}, name="DaemonSet/log"))
    assert (found, rules) == ([], {"status-of-every-kind"})


def test_a_report_counts_agreeing_deviating_and_wrong_cases() -> None:
    report = ConformanceReport()
    one = case({}, {})
    report.add(one, CaseComparison([]))
    report.add(one, CaseComparison([], {"status-of-every-kind"}))
    report.add(
        one, CaseComparison([Disagreement("one-1", "source", 1, 2)], {"status-of-every-kind"})
    )
    assert (report.cases, report.agreed, report.deviating, report.wrong) == (3, 1, 1, 1)
    assert report.deviations == {"status-of-every-kind": 2}


def test_hashes_of_revisions_do_not_count() -> None:
    found, rules = compare(
        case({"currentRevision": "db-6f5b"}, {"currentRevision": "db-8675"}, "StatefulSet/db")
    )
    assert (found, rules) == ([], set())


def test_a_cluster_without_known_nodes_gets_equal_ones() -> None:
    resources = {"schedulableNodes": 2, "allocatable": {"cpu": "8", "memory": "16Gi"}}
    nodes = equal_nodes(resources)
    assert [each["allocatable"]["cpu"] for each in nodes] == ["4", "4"]
