"""What an explanation looks at: a cluster with its rules, and what is known of its pods' units.

It comes from a living plane or from the record of a run; either way nothing is scheduled and
nothing is changed. A record is loaded through the same door as a store's events, so that both
look alike.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from stretto.api.codec import decode_as
from stretto.api.types.heads import decode_pod_head
from stretto.api.types.pod import Pod
from stretto.api.wire.kinds import POD, POD_GROUP, WORKLOAD_POD_GROUP
from stretto.base.errors import InputError, NotFoundError, UnknownNameError
from stretto.control.dispatcher.usage_report import QueueFacts
from stretto.control.dispatcher.views import UnitViews
from stretto.control.scheduler.sub_clusters import sub_clusters_of
from stretto.explain.records.record_file import PodStanding, RecordFile, RunFacts
from stretto.explain.records.rereading import added_events, read_into
from stretto.explain.records.steps import StepFact, told
from stretto.explain.why.judging import Judging
from stretto.explain.words.nearest import nearest
from stretto.explain.words.reasons import Reason, ReasonCode, reason
from stretto.explain.words.standing import UnitFacts, facts_of, positions, quota_message
from stretto.framework.compiled.tables import TypicalPodTable
from stretto.framework.compiled.typical import observed_typical_pods
from stretto.framework.contract.rule import View
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.parity.explain import Judges
from stretto.framework.profile.load import known_rules
from stretto.framework.profile.profile import Profile, load_profile
from stretto.state.cluster.cluster import Cluster
from stretto.state.cluster.config import ClusterConfig
from stretto.state.ingest.whole_objects import apply_objects
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NO_SLOT
from stretto.state.rows.snapshot import Columns
from stretto.state.work.units import Unit, Units
from stretto.stores.store import Record

DEFAULT_NAMESPACE: Final = "default"
_GATES: Final = b'"schedulingGates"'
_GROUPS: Final = (POD_GROUP, WORKLOAD_POD_GROUP)
_FINISHED: Final = frozenset({"Succeeded", "Failed"})


class UnitNotes(Protocol):
    """What is known of pods beside the cluster."""

    def unit_of(self, row: int) -> UnitFacts | None:
        """The pod's unit; ``None`` where there is nothing to say of it."""
        ...

    def members(self, row: int) -> list[int]:
        """Rows of the pods of the same unit that want a node, this one among them."""
        ...

    def steps_of(self, row: int) -> tuple[StepFact, ...]:
        """What happened to the pod."""
        ...


class Scene:
    """A cluster at one instant, to ask questions about."""

    def __init__(self, cluster: Cluster, profile: Profile, notes: UnitNotes) -> None:
        """A scene over a cluster that nobody changes meanwhile."""
        #: Nodes, pods and classes.
        self.cluster = cluster
        #: The rules.
        self.profile = profile
        #: What is known of units and steps.
        self.notes = notes
        #: The rules compiled, for questions about whole gangs.
        self.engine = CompiledProfile(profile, cluster)
        #: The instant that it shows, in words.
        self.when = "the state as it is now"
        #: How the queues stood; empty where nobody has noted it.
        self.queues: tuple[QueueFacts, ...] = ()
        #: Pods that are none of the scheduler's business, and why.
        self.others: dict[str, Reason] = {}
        #: Scheduling gates of the pods that have any, by ``namespace/name``.
        self.gates: dict[str, tuple[str, ...]] = {}
        #: PodGroups that exist, as ``namespace/name``.
        self.groups: tuple[str, ...] = ()
        self._judging = Judging(self.engine)
        if profile.learns:
            self.engine.typical = observed_typical_pods(cluster)

    def read(self, records: Sequence[Record], names: frozenset[str]) -> None:
        """Take from objects what the cluster does not keep of them.

        Args:
            records: pods and PodGroups, other kinds among them or not.
            names: what the scheduler answers to.
        """
        self.others = dict(_others_of(records, self.cluster, names))
        self.gates = dict(_gates_of(records))
        self.groups = tuple(f"{e.namespace}/{e.name}" for e in records if e.kind in _GROUPS)

    def rules(self, row: int) -> Judges:
        """The filters, and the scores with their weights, that judge a pod."""
        return self._judging.rules(row)

    @property
    def typical(self) -> TypicalPodTable:
        """The workload that fragmentation is measured against."""
        return self.engine.typical

    def view(self) -> View:
        """A fresh look at the cluster; its columns may be changed at will."""
        columns = Columns(self.cluster.ledger)
        columns.sync()
        return View(columns, self.cluster.nodes, self.typical, self.engine.look())

    def sub_cluster(self, row: int) -> str:
        """The sub-cluster whose loop places the unit of a pod; empty for everybody's loop."""
        known = sub_clusters_of(self.profile, self.cluster)
        name = "" if known is None else known.of_rows(self.notes.members(row))
        return name if known is not None and known.has_nodes(name) else ""

    def row_of(self, pod: str) -> int:
        """The row of ``name`` or ``namespace/name``.

        Raises:
            NotFoundError: there is no such pod; the nearest names are told.
        """
        rows = list(self._rows_named(pod))
        pods = self.cluster.pods
        if len(rows) > 1:
            preferred = [row for row in rows if pods.namespace[row] == DEFAULT_NAMESPACE]
            rows = preferred or rows
        if rows:
            return rows[0]
        found = self._similar_pods(pod)
        hint = f"did you mean {' or '.join(found)}?" if found else ""
        raise NotFoundError(f"pod {pod}", f"{len(pods)} pods are known", hint)

    def _similar_pods(self, pod: str) -> list[str]:
        """Pods whose names are like one: of its namespace, or where none is, of any."""
        space, _, name = pod.rpartition("/")
        pods = self.cluster.pods
        known = {pods.key(row): pods.name[row] for row in pods.rows().tolist()}
        here = {key: known[key] for key in known if key.startswith(f"{space}/")}
        for among in (here, known):
            if found := nearest(name, among.values()):
                keys = [next(key for key in among if among[key] == each) for each in found]
                return keys if space else found
        return []

    def slot_of(self, node: str) -> int:
        """The slot of a node.

        Raises:
            NotFoundError: there is no such node; the nearest names are told.
        """
        names = self.cluster.nodes.by_name
        if node in names:
            return names[node]
        found = nearest(node, names)
        hint = f"did you mean {' or '.join(found)}?" if found else ""
        raise NotFoundError(f"node {node}", f"{len(names)} nodes are known", hint)

    def other(self, pod: str) -> tuple[str, Reason] | None:
        """A pod that the scheduler does not handle, with why; ``None`` for any other."""
        key = pod if "/" in pod else f"{DEFAULT_NAMESPACE}/{pod}"
        if key in self.others:
            return key, self.others[key]
        complaint = self.cluster.abnormal.get(f"pod {key}")
        if complaint is None:
            return None
        return key, reason(ReasonCode.UNREADABLE, f"It cannot be read: {complaint}.")

    def _rows_named(self, pod: str) -> Iterator[int]:
        """Rows of the pods that a name may mean."""
        space, _, name = pod.rpartition("/")
        pods, at = self.cluster.pods, 0
        while True:
            try:
                at = pods.name.index(name, at, pods.length)
            except ValueError:
                return
            if not space or pods.namespace[at] == space:
                yield at
            at += 1


# ---------------------------------------------------------------- from a living plane


class LiveNotes:
    """Units as the dispatcher has them now."""

    def __init__(self, units: Units, views: UnitViews | None = None) -> None:
        """Notes over a plane's units, which do not move meanwhile."""
        self._units = units
        self._views = views
        self._positions: dict[Unit, tuple[int, int]] | None = None

    def unit_of(self, row: int) -> UnitFacts | None:
        """The pod's unit as it is now."""
        unit = self._units.of_row(row)
        if unit is None:
            return None
        if self._positions is None:
            self._positions = positions(self._units)
        quota = quota_message(self._views, unit)
        failure = self._views.failure(unit) if self._views is not None else ""
        return facts_of(unit, self._positions.get(unit, (0, 0)), failure=failure, quota=quota)

    def members(self, row: int) -> list[int]:
        """Rows of its unit that want a node."""
        unit = self._units.of_row(row)
        return list(unit.pending) if unit is not None else [row]

    def steps_of(self, row: int) -> tuple[StepFact, ...]:
        """A plane keeps none."""
        return ()


def live_scene(
    cluster: Cluster, profile: Profile, units: Units, views: UnitViews | None = None
) -> Scene:
    """The scene of a plane as it is now; ``views`` of its dispatcher tell of limits of queues."""
    scene = Scene(cluster, profile, LiveNotes(units, views))
    scene.queues = tuple(views.queues()) if views is not None else ()
    return scene


# ---------------------------------------------------------------- from a record


class RecordNotes:
    """Units and steps as a record has them."""

    def __init__(self, file: RecordFile, pod_standings: dict[int, PodStanding]) -> None:
        """Notes by row."""
        self._file = file
        self._pod_standings = pod_standings
        self._news = file.news()

    def unit_of(self, row: int) -> UnitFacts | None:
        """The pod's unit at the end of the run."""
        standing = self._pod_standings.get(row)
        if standing is None or standing.unit is None:
            return None
        return self._file.unit(standing.unit)

    def members(self, row: int) -> list[int]:
        """Rows of its unit that had no node."""
        standing = self._pod_standings.get(row)
        if standing is None or standing.unit is None:
            return [row]
        return [
            other
            for other, each in self._pod_standings.items()
            if each.unit == standing.unit and each.state not in (PodState.BOUND, PodState.ASSUMED)
        ]

    def steps_of(self, row: int) -> tuple[StepFact, ...]:
        """What happened to the pod during the run."""
        standing = self._pod_standings.get(row)
        if standing is None:
            return ()
        found = list(told(self._file.steps(standing.serial), self._news))
        if not found or found[0].step != "seen":
            found.insert(0, StepFact(standing.since, "seen", "the pod came"))
        return tuple(found)


class LoadedRun:
    """The record of a run, loaded: ask its scene."""

    def __init__(self, path: Path, plugins: Sequence[Path] = ()) -> None:
        """Load a record.

        Args:
            path: the record's file.
            plugins: files with rules that its profile names.

        Raises:
            InputError: it is no record, or its profile cannot be used any more.
            UnknownNameError: its profile names a rule of a file that is not given.
        """
        #: The file, open.
        self.file = RecordFile(path)
        try:
            self._load(plugins)
        except BaseException:
            self.file.close()
            raise

    def _load(self, plugins: Sequence[Path]) -> None:
        """What the file holds, as a scene."""
        #: What is known of the run.
        self.facts: RunFacts = self.file.facts()
        names = frozenset(self.facts.scheduler_names)
        profile = self._profile(plugins)
        cluster = Cluster(profile.shape(ClusterConfig(scheduler_names=names)))
        for kind in profile.kinds:
            apply_objects(cluster, kind, added_events(self.file.objects(kind)))
        pod_standings = _fill(cluster, self.file)
        #: The cluster at the end of the run.
        self.scene = Scene(cluster, profile, RecordNotes(self.file, pod_standings))
        self.scene.when = "the state at the end of the run"
        self.scene.queues = self.facts.queues
        told = [each for kind in (POD, *_GROUPS) for each in self.file.objects(kind)]
        self.scene.read(told, names)

    def _profile(self, plugins: Sequence[Path]) -> Profile:
        """The run's profile; a rule from a file that was not given is asked for."""
        try:
            return load_profile(self.facts.profile, known_rules(plugins))
        except UnknownNameError as error:
            if not self.facts.plugins:
                raise
            where = f"run {self.facts.name}: profile"
            hint = "add " + " ".join(f"--plugin {path}" for path in self.facts.plugins)
            raise InputError(where, error.name, "rules that are known", hint) from error

    def steps_of(self, serial: int) -> tuple[StepFact, ...]:
        """What happened to a pod by its serial, whether it is still there or not."""
        return tuple(told(self.file.steps(serial), self.file.news()))

    def close(self) -> None:
        """Let go of the file."""
        self.file.close()


def _fill(cluster: Cluster, file: RecordFile) -> dict[int, PodStanding]:
    """A record's objects into a cluster; where each pod stood, by row."""
    read_into(cluster, file.objects)
    found = {}
    pods = cluster.pods
    for uid, standing in file.pod_standings().items():
        row = pods.row(uid)
        if row is None:
            continue
        found[row] = standing
        if pods.slot[row] == NO_SLOT and pods.state[row] != PodState.BOUND:
            pods.state[row] = _waiting(standing.state)
    pods.since[list(found)] = np.array([each.since for each in found.values()], np.float64)
    return found


def _waiting(state: int) -> int:
    """A recorded state for a pod without node: a claim whose bind was not seen is no claim."""
    return state if state not in (PodState.BOUND, PodState.ASSUMED) else int(PodState.PENDING)


def _gates_of(records: Iterable[Record]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Pods among some objects that gates hold, with the gates."""
    for record in records:
        if record.kind == POD and _GATES in record.body:
            with suppress(InputError):
                gates = decode_as(Pod, record.body).spec.scheduling_gates
                yield f"{record.namespace}/{record.name}", tuple(gate.name for gate in gates)


def _others_of(
    records: Iterable[Record], cluster: Cluster, names: frozenset[str]
) -> Iterator[tuple[str, Reason]]:
    """Pods among some objects that have no row, with why."""
    for record in records:
        if record.kind != POD or cluster.pods.row(record.uid) is not None:
            continue
        why = not_handled(record, names)
        if why is not None:
            yield f"{record.namespace}/{record.name}", why


def not_handled(record: Record, names: frozenset[str]) -> Reason | None:
    """Why a pod is none of the scheduler's business; ``None`` where it is, or is unreadable."""
    try:
        head = decode_pod_head(record.body)
    except InputError:
        return None
    if head.status.phase in _FINISHED:
        return reason(ReasonCode.ENDED, f"It has ended: its phase is {head.status.phase}.")
    if head.spec.scheduler_name in names:
        return None
    asked = head.spec.scheduler_name or "no scheduler by name"
    sentence = f"It asks for {asked}, and this one answers to {', '.join(sorted(names))}."
    return reason(ReasonCode.OTHER_SCHEDULER, sentence)
