"""Intended differences of the API server from kube-apiserver, each with its reason.

A rule reads one differing part of an exchange and never the name of a session.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from stretto_lab.conformance.apiserver.sessions import RecordedLine

_ABSENT: Final = "(absent)"
_COLUMNS: Final = re.compile(r"\s{2,}")
_IP: Final = 5
"""Column of the address of a pod."""
_ADDRESS: Final = re.compile(r"<none>|10(?:\.\d+){3}")
_HASHED: Final = re.compile(r"(\S+)-(?:HASH|[bcdfghjklmnpqrstvwxz2-9]{6,10})\s")
"""A row of a ReplicaSet."""


@dataclass(frozen=True, slots=True)
class WireDeviation:
    """One rule."""

    #: Name in reports.
    name: str
    #: Reason of the difference.
    reason: str
    #: Predicate of a difference (line, path, recorded value, value of the replay); true if the rule
    #: explains it.
    explains: Callable[[RecordedLine, str, Any, Any], bool]


def _describes(line: RecordedLine, path: str, _want: Any, _got: Any) -> bool:
    if "explain" in ((line.action or {}).get("kubectl") or ())[:1]:
        return path.startswith("stdout")
    sums = ("digest.structure_sha256", "digest.bytes")
    return path.endswith(".description") or path in sums


def _has_metrics(line: RecordedLine, path: str, want: Any, got: Any) -> bool:
    """True if the replay shows metrics that the recorded server does not have."""
    if "top" not in ((line.action or {}).get("kubectl") or ())[:1]:
        return False
    return line.exit == 1 and path == "exit" and str(got).startswith("0 ") and want == 1


def _remembers_token(line: RecordedLine, path: str, want: Any, got: Any) -> bool:
    """True if only the recorded server still accepts an expired token."""
    if line.request is None:
        return False
    if line.request.headers.get("Authorization", "").startswith("Bearer ${JWT"):
        return path == "status" and want == HTTPStatus.OK and str(got).startswith("401 ")
    is_review = line.request.path.endswith("/tokenreviews") and path.startswith("status.")
    return is_review and (want == _ABSENT) is not (got == _ABSENT)


def _follows_gap(line: RecordedLine, path: str, _want: Any, _got: Any) -> bool:
    return line.follows_gap and path.startswith("metadata.")


def _changes_second(line: RecordedLine, path: str, want: Any, got: Any) -> bool:
    """True if only the recorded server assigned a version to a write without other changes."""
    is_write = line.request is not None and line.request.method in ("PATCH", "PUT")
    is_version = path == "metadata.resourceVersion" and str(want).startswith("${RV")
    return is_write and is_version and str(got).isdigit()


def _identifies_server(_line: RecordedLine, _path: str, want: Any, got: Any) -> bool:
    metadata = want.get("metadata", {}) if isinstance(want, dict) else {}
    return got == _ABSENT and "apiserver.kubernetes.io/identity" in (metadata.get("labels") or ())


def _measures(line: RecordedLine, path: str, _want: Any, _got: Any) -> bool:
    return path == "digest.some" and line.request is not None and line.request.path == "/metrics"


def _words(line: RecordedLine) -> list[str]:
    """The words of a command of kubectl."""
    return list((line.action or {}).get("kubectl") or ())


def _prints_version(_line: RecordedLine, path: str, want: Any, got: Any) -> bool:
    heads = [str(each).partition("Resource Version:") for each in (want, got)]
    return path.startswith("stdout") and bool(heads[0][1]) and heads[0][:2] == heads[1][:2]


def _shows_addresses(line: RecordedLine, path: str, want: Any, got: Any) -> bool:
    """True if only the addresses differ in rows of pods; unordered rows have no counterpart."""
    words = _words(line)
    if not path.startswith("stdout") or words[:2] != ["get", "pods"] or "wide" not in words:
        return False
    rows = [_COLUMNS.split(str(each).strip()) for each in (want, got) if each != _ABSENT]
    if any(len(row) <= _IP or not _ADDRESS.fullmatch(row[_IP]) for row in rows):
        return False
    return len({(*row[:_IP], *row[_IP + 1 :]) for row in rows}) == 1


def _names_templates(line: RecordedLine, path: str, want: Any, got: Any) -> bool:
    """True if rows of ReplicaSets of one Deployment differ; they are sorted by hash."""
    if not path.startswith("stdout") or _words(line)[:2] != ["get", "rs"]:
        return False
    rows = [_HASHED.match(str(each)) for each in (want, got) if each != _ABSENT]
    return len({None if row is None else row[1] for row in rows} - {None}) == 1 and all(rows)


def _depends_on_pace(line: RecordedLine, path: str, want: Any, got: Any) -> bool:
    """True if the progress of a rollout or the nodes of pods are printed."""
    words = _words(line)
    texts = (str(want), str(got))
    if not path.startswith("stdout"):
        return False
    if words[:2] in (["rollout", "status"], ["describe", "deploy"]):
        known = ("Waiting for ", "ScalingReplicaSet", "successfully rolled out", _ABSENT)
        return all(any(word in text for word in known) for text in texts)
    return words[:1] == ["drain"] and any("evict" in text or "drained" in text for text in texts)


DEVIATIONS: Final = (
    WireDeviation(
        "missing-lines",
        "the recording lacks requests of the session, and later answers show their effects",
        _follows_gap,
    ),
    WireDeviation(
        "printed-versions",
        "a printed resource version comes from the recorded server",
        _prints_version,
    ),
    WireDeviation(
        "pod-addresses",
        "simulated pods have addresses; those of the recorded cluster have none",
        _shows_addresses,
    ),
    WireDeviation(
        "template-hashes",
        "ReplicaSets are listed by the hashes of their templates, which differ",
        _names_templates,
    ),
    WireDeviation(
        "pace",
        "steps of a rollout and the nodes of pods depend on the pace of controllers and scheduler",
        _depends_on_pace,
    ),
    WireDeviation(
        "own-metrics",
        "the server has metrics of its own instead of those of kube-apiserver",
        _measures,
    ),
    WireDeviation(
        "server-lease",
        "the only API server of a cluster holds no Lease that distinguishes it from others",
        _identifies_server,
    ),
    WireDeviation(
        "stopped-clock",
        "a write that only changes the second of managed fields gets a version of its own; the "
        "clock of the replay stands still",
        _changes_second,
    ),
    WireDeviation(
        "metrics",
        "the metrics of nodes and pods are served without a metrics server",
        _has_metrics,
    ),
    WireDeviation(
        "own-descriptions",
        "columns and fields have descriptions of this project, or none",
        _describes,
    ),
    WireDeviation(
        "ended-tokens",
        "a token ends at once with its account; kube-apiserver caches token reviews for ten "
        "seconds",
        _remembers_token,
    ),
)
"""The rules."""


def deviation_of(line: RecordedLine, path: str, want: Any, got: Any) -> str | None:
    """The rule that explains a difference, or ``None``."""
    found = (rule.name for rule in DEVIATIONS if rule.explains(line, path, want, got))
    return next(found, None)
