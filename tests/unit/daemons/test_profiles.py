"""A profile that changes under a daemon's feet."""

import io
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from stretto.base.clock import ManualClock
from stretto.base.errors import StrettoError
from stretto.cli.interrupts import on_hangup
from stretto.daemons.logs import Log, LogFormat
from stretto.daemons.profiles import LOOK_EVERY, ProfileFile
from stretto.explain.metrics.exposition import text_of
from stretto.framework.profile.profile import load_profile

FORM = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: %s
"""


class Desk:
    """A profile's file, and its watcher."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "profile.yaml"
        self.write("stretto")
        self.clock = ManualClock()
        self.said = io.StringIO()
        log = Log(self.clock, LogFormat.TEXT, self.said)
        self.profiles = ProfileFile(str(self.path), load_profile, self.clock, log)

    def write(self, name: str) -> None:
        self.path.write_text(FORM % name)

    def later(self) -> bool:
        """Look when it is time to."""
        self.clock.advance(LOOK_EVERY)
        return self.profiles.look()

    @property
    def names(self) -> tuple[str, ...]:
        return self.profiles.good.scheduler_names

    @property
    def figures(self) -> str:
        return text_of(self.profiles.families())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_file_that_changes_is_taken_up_within_seconds(desk: Desk) -> None:
    desk.write("batch")
    assert not desk.profiles.look()
    assert desk.later()
    assert desk.names == ("batch",)
    assert 'stretto_profile_reloads_total{result="changed"} 1.0' in desk.figures


def test_it_is_read_at_once_on_request(desk: Desk) -> None:
    desk.write("batch")
    desk.profiles.request()
    assert desk.profiles.look()


def test_an_equal_file_changes_nothing(desk: Desk) -> None:
    desk.profiles.request()
    assert not desk.profiles.look()
    assert "is unchanged" in desk.said.getvalue()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_text("profiles: [{schedulerName: 3"),
        lambda path: path.write_text(FORM % "stretto" + "    plugins: {filter: {enabled: 7}}"),
        lambda path: path.write_bytes(b"\xff\xfe"),
        lambda path: path.write_text("[" * 30_000),
        lambda path: path.unlink(),
    ],
)
def test_a_bad_file_keeps_the_old_one_and_reports_it(
    desk: Desk, spoil: Callable[[Path], object]
) -> None:
    spoil(desk.path)
    assert not desk.later()
    assert desk.names == ("stretto",)
    assert "is invalid; the former profile stays in use" in desk.said.getvalue()
    assert "stretto_profile_is_good 0.0" in desk.figures
    assert 'stretto_profile_reloads_total{result="kept"} 1.0' in desk.figures


def test_a_corrected_file_is_applied(desk: Desk) -> None:
    desk.path.write_text("nonsense")
    desk.later()
    desk.write("batch")
    assert desk.later()
    assert "stretto_profile_is_good 1.0" in desk.figures


def test_a_bad_file_that_is_put_back_is_good_and_no_change(desk: Desk) -> None:
    desk.path.write_text("nonsense")
    desk.later()
    desk.write("stretto")
    assert not desk.later()
    assert "stretto_profile_is_good 1.0" in desk.figures


def test_a_bad_file_at_the_start_is_an_error(tmp_path: Path) -> None:
    log = Log(ManualClock(), LogFormat.TEXT, io.StringIO())
    with pytest.raises(StrettoError):
        ProfileFile(str(tmp_path / "none.yaml"), load_profile, ManualClock(), log)


def test_a_hangup_sends_and_ends_nothing() -> None:
    requested: list[int] = []
    with on_hangup(lambda: requested.append(1)):
        signal.raise_signal(signal.SIGHUP)
    assert requested == [1]
