"""Runs a fleet under each policy, including the schedulers of its members."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Final

import msgspec

from stretto.federation.settings import FederationSettings
from stretto.inputs.objects.objects import node_body
from stretto.sim.fleet.building import JOINING, built, join, settings_of
from stretto.sim.fleet.comparison.changes import WhatIf
from stretto.sim.fleet.comparison.jobs import TraceRunner
from stretto.sim.fleet.comparison.outcomes import FleetObserver, PolicyOutcome
from stretto.sim.fleet.comparison.policies import FleetPolicy, objects_under, settings_under
from stretto.sim.fleet.comparison.trace import POLICY, FleetTrace
from stretto.sim.fleet.description import ClusterShape, FleetDescription
from stretto.sim.fleet.fleet import EmbeddedFleet

SAMPLE: Final = 2.0
"""Minimum seconds between two samples of a fleet."""
SAMPLES: Final = 400
"""Approximate number of samples of a trace."""
_REPORTS: Final = 2000
"""Approximate maximum number of reports of each cluster in a trace."""
_RETRIES: Final = 200
"""Approximate maximum number of retries of a waiting object in a trace."""
_REST: Final = 60.0
"""Seconds of the run after the last arrival of jobs without an end."""
_LONGEST: Final = 2.0
"""Maximum length of the run, as a multiple of the span of a trace."""


@dataclass(frozen=True, slots=True)
class FleetSubject:
    """Subject of a comparison."""

    #: The clusters of a fleet file with the objects of its host; the clusters of a trace are added.
    described: FleetDescription
    #: A trace; ``None`` for none.
    trace: FleetTrace | None = None
    #: Seconds after which unschedulable pods move to another cluster; ``None`` for never.
    migrates_after: float | None = None

    @property
    def clusters(self) -> list[str]:
        """Names of all clusters."""
        return [*(each.name for each in self.described.clusters), *self._traced]

    @property
    def _traced(self) -> list[str]:
        return list(self.trace.nodes) if self.trace is not None else []

    @property
    def period(self) -> float:
        """Seconds between two samples."""
        return SAMPLE if self.trace is None else max(SAMPLE, self.trace.span_s / SAMPLES)

    @property
    def most_s(self) -> float:
        """Maximum seconds of virtual time."""
        if self.trace is None:
            return self.described.seconds
        return _LONGEST * self.trace.span_s + _REST


def compare(
    subject: FleetSubject,
    policies: Sequence[FleetPolicy],
    what_if: WhatIf,
    done: Callable[[int], None] = lambda _: None,
) -> list[PolicyOutcome]:
    """Run a fleet under each policy.

    Args:
        subject: the fleet, and the trace that it runs.
        policies: the policies.
        what_if: events of the run.
        done: called with the number of policies that have run.

    Raises:
        UnknownNameError: an event names a cluster that the fleet does not have.
        InputError: an added cluster exists already.
    """
    what_if.check(subject.clusters)
    found = []
    for each in policies:
        found.append(_outcome(subject, each, what_if))
        done(len(found))
    return found


def _outcome(subject: FleetSubject, policy: FleetPolicy, what_if: WhatIf) -> PolicyOutcome:
    fleet = _built(subject, policy, what_if)
    observer = FleetObserver(fleet, what_if.lost)
    jobs = subject.trace.jobs if subject.trace is not None else ()
    runner = TraceRunner(fleet, jobs, observer.ended.add)
    start, changes_at, looks_at = fleet.clock.monotonic(), what_if.at, subject.period
    now, most = 0.0, subject.most_s
    while now < most and not _is_over(subject, runner, now, changes_at):
        if now >= changes_at:
            what_if.happen(fleet)
            changes_at = inf
        runner.advance(now)
        now = min(looks_at, runner.next_due(), changes_at)
        fleet.run_until(start + now)
        if now >= looks_at:
            observer.look()
            looks_at += subject.period
    observer.look()
    return observer.outcome(policy.value, runner.outcome() if jobs else None)


def _is_over(subject: FleetSubject, runner: TraceRunner, now: float, changes_at: float) -> bool:
    """True if a trace has no further events."""
    if subject.trace is None:
        return False
    rests = now >= subject.trace.last_arrival_s + _REST and changes_at == inf
    return runner.is_done and rests


def _built(subject: FleetSubject, policy: FleetPolicy, what_if: WhatIf) -> EmbeddedFleet:
    """The fleet before its first job; its clusters have joined."""
    trace, objects = subject.trace, subject.described.objects
    settings = settings_of(subject.described)
    if trace is not None:
        names = [*subject.clusters, *(each.name for each in what_if.added)]
        objects = (*objects, _policy(names, subject.migrates_after))
        settings = _paced(settings, trace.span_s)
    described = msgspec.structs.replace(subject.described, objects=objects_under(objects, policy))
    fleet = built(described, settings_under(settings, policy))
    for name, nodes in trace.nodes.items() if trace is not None else ():
        join(fleet, ClusterShape(name), [node_body(each) for each in nodes])
    fleet.run_until(fleet.clock.monotonic() + (JOINING if trace is not None else 0.0))
    return fleet


def _paced(settings: FederationSettings, span: float) -> FederationSettings:
    """Settings with bounded periodic work, for a trace of ``span`` seconds."""
    health, retry = max(settings.health_period, span / _REPORTS), span / _RETRIES
    return replace(
        settings,
        health_period=health,
        health_threshold=2 * health,
        drift_delay=max(settings.drift_delay, retry),
        silence=max(settings.silence, retry),
        deletion_retry=max(settings.deletion_retry, retry),
    )


def _policy(clusters: Sequence[str], migrates_after: float | None) -> dict[str, Any]:
    """The policy of the jobs of a trace, which allows any cluster."""
    spec: dict[str, Any] = {
        "schedulingMode": "Divide",
        "placement": [{"cluster": name} for name in clusters],
    }
    if migrates_after is not None:
        spec["autoMigration"] = {"when": {"podUnschedulableFor": f"{migrates_after:g}s"}}
    return {
        "apiVersion": "core.kubeadmiral.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": POLICY, "namespace": "default"},
        "spec": spec,
    }
