"""Location of compiled kernels, and when they are stale."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stretto.framework.kernels import cache as module
from stretto.framework.kernels.cache import KERNELS, KernelCache, KernelSet
from stretto.framework.kernels.tiers import has_numba

pytestmark = pytest.mark.skipif(not has_numba(), reason="numba is not installed")


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of kernels with one source."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    folder = tmp_path / "package" / "framework" / "kernels"
    (folder / "place").mkdir(parents=True)
    (folder / "place" / "loop.py").write_text("one")
    return folder


def changed(kernels: Path) -> KernelCache:
    """The cache after a change in a source, as a new process sees it."""
    (kernels / "place" / "loop.py").write_text("two")
    module._sources_digest.cache_clear()
    return KernelCache(kernels)


def test_compiled_code_of_other_sources_is_deleted(kernels: Path) -> None:
    KernelCache(kernels).forget_stale()
    compiled = kernels / "place" / "__pycache__" / "loop.f-1.nbi"
    compiled.parent.mkdir()
    compiled.touch()
    assert not KernelCache(kernels).forget_stale()
    assert compiled.exists()
    assert changed(kernels).forget_stale()
    assert not compiled.exists()


def test_compiled_code_in_the_cache_of_the_user_is_deleted_too(
    kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    KernelCache(kernels).forget_stale()
    compiled = next(f for f in KernelCache(kernels).folders() if f.name.startswith("place_"))
    compiled.mkdir(parents=True)
    (compiled / "loop.f-1.nbc").touch()
    assert changed(kernels).forget_stale()
    assert list(compiled.iterdir()) == []


def test_a_set_is_compiled_once_its_marker_exists_and_the_sources_are_the_same(
    kernels: Path,
) -> None:
    cache = KernelCache(kernels)
    assert not cache.is_compiled(KernelSet.FIRST)
    assert cache.mark_compiled(KernelSet.FIRST)
    assert (cache.is_compiled(KernelSet.FIRST), cache.is_compiled()) == (True, False)
    assert not changed(kernels).is_compiled(KernelSet.FIRST)


def test_all_kernels_include_those_of_a_first_run(kernels: Path) -> None:
    cache = KernelCache(kernels)
    cache.mark_compiled(KernelSet.ALL)
    assert cache.is_compiled(KernelSet.FIRST)


def test_code_for_another_processor_does_not_count(
    kernels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = KernelCache(kernels)
    cache.mark_compiled(KernelSet.ALL)
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    assert not cache.is_compiled()


def test_a_folder_that_cannot_be_written_stays_as_it_is(
    tmp_path: Path, kernels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    cache = KernelCache(kernels)
    assert not cache.forget_stale()
    assert not cache.mark_compiled(KernelSet.ALL)
    assert not cache.is_writable()
    with cache.compiling(wait=True) as holds_lock:
        assert holds_lock


def test_one_process_compiles_at_a_time(kernels: Path) -> None:
    cache = KernelCache(kernels)
    with cache.compiling(wait=False) as first, cache.compiling(wait=False) as second:
        assert (first, second) == (True, False)


def test_a_read_only_package_uses_the_cache_of_the_user(
    kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert KernelCache(kernels).folder.parent == tmp_path / "numba"


@pytest.mark.skipif(not has_numba(), reason="numba is not installed")
@pytest.mark.parametrize("in_tree", [True, False])
def test_numba_keeps_compiled_code_in_the_folder_of_the_cache(
    tmp_path: Path, in_tree: bool
) -> None:
    code = (
        "from stretto.framework.kernels.place import loop;"
        "from stretto.framework.kernels.affinity import values;"
        "print(loop.place.stats.cache_path); print(values.recheck.stats.cache_path)"
    )
    given = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    given |= {} if in_tree else {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True)
    known = KernelCache(KERNELS)
    known._in_tree, known._root = in_tree and os.access(KERNELS, os.W_OK), tmp_path
    assert set(done.stdout.split()) <= {str(folder) for folder in known.folders()}
    assert done.stdout
