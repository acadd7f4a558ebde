"""A harness whose plane is recorded, with the stories of its pods."""

from pathlib import Path

from stretto.base.clock import seconds_since
from stretto.explain.records.record_file import RecordSources, RunFacts, write_record
from stretto.explain.records.recorder import Recorder
from stretto.explain.story import Story, story_of_run
from stretto.explain.why.sources.loaded import LoadedRun
from stretto.testing import Harness

FACTS = RunFacts("r", "s.yaml", "2026-01-02T03:04:05Z", 1.0, 7, 1, "default", ("stretto",))
"""Facts about the recorded run."""


class RecordedHarness:
    """A harness and the recorder of its plane."""

    def __init__(self, folder: Path, harness: Harness) -> None:
        """Record a harness from now on; records are written to a folder."""
        #: The harness.
        self.at = harness
        plane = harness.plane
        #: The recorder.
        self.recorder = Recorder(plane.cluster, seconds_since(0.0), verdicts=plane.verdicts)
        plane.observers.append(self.recorder.observe)
        plane.witnesses.append(self.recorder.witness)
        self._path = folder / "r.sqlite"

    def submit(self, *pods: bytes) -> None:
        """Create pods, and run for a second."""
        self.at.submit(*pods)
        self.at.settle(1.0)

    def story(self, pod: str) -> Story:
        """The story of a pod so far."""
        plane = self.at.plane
        sources = RecordSources(self.at.store, plane.cluster, plane.units, self.recorder)
        write_record(self._path, FACTS, sources)
        run = LoadedRun(self._path)
        try:
            return story_of_run(run, pod)
        finally:
            run.close()
