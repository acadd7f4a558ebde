"""The scene at the end of a recorded run."""

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

from stretto.base.errors import InputError, UnknownNameError
from stretto.explain.records.record_file import PodStanding, RecordFile, RunFacts
from stretto.explain.records.steps import StepFact, step_facts
from stretto.explain.why.scene import Scene
from stretto.explain.why.sources.charges import recorded_usage
from stretto.explain.why.sources.restored import restored_cluster
from stretto.explain.why.sources.unhandled import FACT_KINDS, read_objects
from stretto.explain.words.standing import UnitFacts
from stretto.framework.profile.load import known_rules
from stretto.framework.profile.profile import Profile, load_profile
from stretto.state.rows.lifecycle import PodState


class RecordNotes:
    """Units and steps from a record."""

    def __init__(self, file: RecordFile, pod_standings: dict[int, PodStanding]) -> None:
        """Read the notes of a record, given the state of each pod by row."""
        self._file = file
        self._pod_standings = pod_standings
        self._wake_events = file.wake_events()

    def unit_of(self, row: int) -> UnitFacts | None:
        """The pod's unit at the end of the run."""
        standing = self._pod_standings.get(row)
        if standing is None or standing.unit is None:
            return None
        return self._file.unit(standing.unit)

    def members(self, row: int) -> list[int]:
        """Rows of the pods of the pod's unit that have no node."""
        standing = self._pod_standings.get(row)
        if standing is None or standing.unit is None:
            return [row]
        return [
            other
            for other, each in self._pod_standings.items()
            if each.unit == standing.unit and each.state not in (PodState.BOUND, PodState.ASSUMED)
        ]

    def steps_of(self, row: int) -> tuple[StepFact, ...]:
        """The pod's steps during the run."""
        standing = self._pod_standings.get(row)
        if standing is None:
            return ()
        found = list(step_facts(self._file.steps(standing.serial), self._wake_events))
        if not found or found[0].step != "seen":
            found.insert(0, StepFact(standing.since, "seen", "first seen by the scheduler"))
        return tuple(found)


class LoadedRun:
    """A run record with its scene."""

    def __init__(self, path: Path, plugins: Sequence[Path] = ()) -> None:
        """Load a record.

        Args:
            path: the record's file.
            plugins: files that define rules of the record's profile.

        Raises:
            InputError: the file is not a record, or its profile is no longer valid.
            UnknownNameError: the profile names a rule of a plugin file that is not given.
        """
        #: Open file of the record.
        self.file = RecordFile(path)
        try:
            self._load(plugins)
        except BaseException:
            self.file.close()
            raise

    def _load(self, plugins: Sequence[Path]) -> None:
        """Build the scene from the file."""
        #: Facts about the run.
        self.facts: RunFacts = self.file.facts()
        names = frozenset(self.facts.scheduler_names)
        profile = self._profile(plugins)
        cluster, pod_standings = restored_cluster(self.file, profile, names)
        notes = RecordNotes(self.file, pod_standings)
        usage = cache(partial(recorded_usage, self.file, profile, cluster, pod_standings))
        self.scene = Scene(cluster, profile, notes, usage)
        self.scene.when = "the final state of the run"
        self.scene.queues = self.facts.queues
        records = [each for kind in FACT_KINDS for each in self.file.objects(kind)]
        self.scene.objects = read_objects(records, cluster, names)

    def _profile(self, plugins: Sequence[Path]) -> Profile:
        """Load the profile of the run; an error about a missing plugin file names the option."""
        try:
            return load_profile(self.facts.profile, known_rules(plugins))
        except UnknownNameError as error:
            if not self.facts.plugins:
                raise
            where = f"run {self.facts.name}: profile"
            hint = "add " + " ".join(f"--plugin {path}" for path in self.facts.plugins)
            raise InputError(where, error.name, "known rules", hint) from error

    def steps_of(self, serial: int) -> tuple[StepFact, ...]:
        """The steps of a pod by its serial, including pods that no longer exist."""
        return tuple(step_facts(self.file.steps(serial), self.file.wake_events()))

    def close(self) -> None:
        """Close the file."""
        self.file.close()
