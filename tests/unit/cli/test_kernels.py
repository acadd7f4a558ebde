"""Kernels are compiled ahead, in the background, or on request; a decision never waits for them."""

import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from stretto.base.errors import StrettoError
from stretto.cli.commands import kernels as verb
from stretto.cli.kernels import scenes, tier, workers
from stretto.cli.kernels.tier import measured_tier, tier_of
from stretto.cli.main import cli
from stretto.framework.kernels import tiers
from stretto.framework.kernels.cache import KernelCache, KernelSet

IndexDataCacheFile = pytest.importorskip("numba.core.caching").IndexDataCacheFile


class Desk:
    """A machine whose scenes only note that they were played."""

    def __init__(self) -> None:
        self.played: list[str] = []
        self.processes: list[Sequence[str]] = []
        self.notes: list[str] = []
        self.exit_code = 0

    def run(self, words: Sequence[str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        self.processes.append(words)
        return subprocess.CompletedProcess(words, self.exit_code)

    def start(self, words: Sequence[str], **_: Any) -> None:
        self.processes.append(words)

    def kernels(self, *words: str) -> Result:
        return CliRunner().invoke(cli, ["kernels", *words])

    def tier(self, requested: str) -> str:
        return tier_of(requested, self.notes.append)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A machine with numba and without compiled kernels."""
    desk = Desk()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv(tier.BACKGROUND, raising=False)
    monkeypatch.setattr(tiers, "has_numba", lambda: True)
    played = {
        KernelSet.FIRST: {name: lambda name=name: desk.played.append(name) for name in "ab"},
        KernelSet.ALL: {"c": lambda: desk.played.append("c")},
    }
    monkeypatch.setattr(scenes, "SCENES", played)
    monkeypatch.setattr(verb, "usable_cores", lambda: 1)
    monkeypatch.setattr(tier.subprocess, "run", desk.run)
    monkeypatch.setattr(tier.subprocess, "Popen", desk.start)
    return desk


# ---------------------------------------------------------------- stretto kernels


def test_every_scene_is_played_once(desk: Desk) -> None:
    assert "all kernels are compiled" in desk.kernels().output
    assert "all kernels are compiled" in desk.kernels().output
    assert desk.played == ["a", "b", "c"]


def test_first_compiles_what_a_first_run_needs_and_the_rest_follows(desk: Desk) -> None:
    assert "the kernels of a first run are compiled" in desk.kernels("--first").output
    assert desk.played == ["a", "b"]
    desk.kernels()
    assert desk.played == ["a", "b", "c"]


def test_check_compiles_nothing_and_exits_9_without_kernels(desk: Desk) -> None:
    result = desk.kernels("--check")
    assert (result.exit_code, desk.played) == (9, [])
    assert "all kernels are not compiled; run stretto kernels" in result.output
    desk.kernels()
    assert desk.kernels("--check").exit_code == 0


def test_the_check_of_a_first_run_needs_less(desk: Desk) -> None:
    desk.kernels("--first")
    assert desk.kernels("--check", "--first").exit_code == 0
    assert desk.kernels("--check").exit_code == 9


def test_a_failed_scene_keeps_its_set_uncompiled(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise RuntimeError("the compiler crashed")

    monkeypatch.setitem(scenes.SCENES, KernelSet.ALL, {"c": fail})  # type: ignore[misc]
    assert desk.kernels().exit_code == 1
    assert KernelCache().is_compiled(KernelSet.FIRST)
    assert not KernelCache().is_compiled(KernelSet.ALL)


def test_the_background_compiler_ends_where_another_process_compiles(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.nice", lambda _: 0)
    with KernelCache().compiling(wait=False):
        desk.kernels("--background")
    assert desk.played == []
    desk.kernels("--background")
    assert desk.played == ["a", "b", "c"]


def test_a_compiler_that_is_switched_off_marks_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert desk.kernels().exit_code == 2
    assert not KernelCache().is_compiled(KernelSet.FIRST)


def test_the_result_is_json_too(desk: Desk) -> None:
    reported = json.loads(desk.kernels("--first", "--json", "-", "-q").stdout)
    assert reported["schema"] == "stretto.kernels/v1"
    assert reported["compiled"] == {"first": True, "all": False}


def test_without_numba_the_extra_is_named(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "has_numba", lambda: False)
    result = desk.kernels()
    assert result.exit_code == 2
    assert "needs the extra kernels: pip install 'stretto[kernels]'" in result.output


# ---------------------------------------------------------------- several cores


def test_several_processes_play_the_scenes_and_one_failure_reaches_the_caller() -> None:
    parts = [(KernelSet.ALL, "no scene"), (KernelSet.ALL, "no such scene")]
    with pytest.raises(KeyError, match="no s"):
        list(workers.play_scenes(parts, 2))


def test_writers_of_one_cache_lose_nothing_and_read_their_own_data(tmp_path: Path) -> None:
    file = IndexDataCacheFile(str(tmp_path), "kernel", ("size", "time"))
    save = workers.locked(IndexDataCacheFile.save, tmp_path / "lock")
    load = workers.locked(IndexDataCacheFile.load, tmp_path / "lock")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: save(file, key, key), range(100)))
    assert [load(file, key) for key in range(100)] == list(range(100))


# ---------------------------------------------------------------- the tier of a command


def test_auto_starts_on_numpy_and_compiles_in_the_background(desk: Desk) -> None:
    assert desk.tier("auto") == "numpy"
    (words,) = desk.processes
    assert words[:2] == [sys.executable, "-P"]
    assert "--background" in words
    (note,) = desk.notes
    assert note.startswith("Compiling kernels in the background (once per machine, about ")
    assert note.endswith("decisions use the NumPy tier until then.")


def test_auto_uses_compiled_kernels_in_silence(desk: Desk) -> None:
    KernelCache().mark_compiled(KernelSet.ALL)
    assert desk.tier("auto") == "numba"
    assert (desk.processes, desk.notes) == ([], [])


def test_numba_waits_for_the_compiler(desk: Desk) -> None:
    assert desk.tier("numba") == "numba"
    assert "--background" not in desk.processes[0]
    assert desk.notes[0].startswith("Compiling kernels (once per machine")


def test_a_measurement_waits_for_the_compiler(desk: Desk) -> None:
    assert measured_tier("auto", desk.notes.append) == "numba"
    assert "--background" not in desk.processes[0]
    assert measured_tier("numpy", desk.notes.append) == "numpy"


def test_numba_fails_where_the_compiler_fails(desk: Desk) -> None:
    desk.exit_code = 1
    with pytest.raises(StrettoError, match="the kernels do not compile"):
        desk.tier("numba")


def test_numpy_compiles_nothing(desk: Desk) -> None:
    assert desk.tier("numpy") == "numpy"
    assert desk.processes == []


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "POD", "--on", "nothing"),
        ("plan", "POD", "--on", "4cpu-8gb:2"),
        ("plan", "POD", "--on", "4cpu-8gib:2", "--policy", "fdg"),
        ("capacity", "POD", "--on", "4cpu-8gib:2", "--profile", "packng"),
        ("capacity", "SCENARIO", "--on", "4cpu-8gib:2"),
        ("scale", "SCENARIO", "--on", "4cpu-8gib:2"),
        ("tides", "SCENARIO", "--on", "4cpu-8gib:2"),
        ("defragment", "--on", "4cpu-8gib:0"),
        ("run", "SCENARIO", "--policy", "fdg"),
        ("simulate", "SCENARIO"),
        ("compare", "POD"),
    ],
)
def test_a_wrong_argument_starts_no_compiler(
    desk: Desk, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "POD").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}")
    (tmp_path / "SCENARIO").write_text("fleet: {like: '4cpu-8gib:1'}")
    given = [str(tmp_path / each) if each.isupper() else each for each in words]
    assert CliRunner().invoke(cli, given).exit_code in (2, 6)
    assert desk.processes == []


def test_a_right_state_starts_the_compiler(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "pod").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}")
    CliRunner().invoke(cli, ["plan", str(tmp_path / "pod"), "--on", "4cpu-8gib:2"])
    assert len(desk.processes) == 1


def test_the_environment_prevents_a_background_compiler(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(tier.BACKGROUND, "0")
    assert desk.tier("auto") == "numpy"
    assert (desk.processes, desk.notes) == ([], [])


def test_a_cache_that_is_read_only_starts_no_compiler(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    assert desk.tier("auto") == "numpy"
    assert desk.processes == []


def test_without_numba_auto_is_numpy(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "has_numba", lambda: False)
    assert desk.tier("auto") == "numpy"
    assert desk.processes == []


def test_the_scenes_run_on_the_numpy_tier_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are valid clusters; the kernels themselves are compiled by ``make kernels``."""
    monkeypatch.setattr(tiers, "resolve", lambda _: "numpy")
    for group in scenes.SCENES.values():
        for scene in group.values():
            scene()
