"""Which kernels a runtime gets."""

import subprocess
import sys
from pathlib import Path

import pytest

from stretto.base.errors import NotAllowedError, UnknownNameError
from stretto.framework.kernels import tiers
from stretto.framework.kernels.tiers import kernel


def test_numpy_can_be_asked_for() -> None:
    assert kernel("numpy").name == "numpy"


def test_auto_takes_numba_where_it_is_installed() -> None:
    assert kernel("auto").name == ("numba" if tiers.has_numba() else "numpy")


def test_an_unknown_tier_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean numba or numpy"):
        kernel("numbpa")


def test_without_numba_auto_is_numpy_and_numba_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "has_numba", lambda: False)
    assert kernel("auto").name == "numpy"
    with pytest.raises(NotAllowedError, match="stretto\\[kernels\\]"):
        kernel("numba")


def test_the_numpy_tier_and_the_profile_import_no_numba() -> None:
    code = (
        "import sys; from stretto.framework.kernels.tiers import kernel; kernel('numpy');"
        "from stretto.framework.profile.profile import load_profile; load_profile('fgd');"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_kernels_compiled_from_other_sources_are_forgotten(tmp_path: Path) -> None:
    source, compiled = tmp_path / "slot_value.py", tmp_path / "loop.f-1.nbi"
    source.write_text("one")
    tiers.forget_stale(tmp_path, [source])
    compiled.touch()
    assert not tiers.forget_stale(tmp_path, [source])
    assert compiled.exists()
    source.write_text("two")
    assert tiers.forget_stale(tmp_path, [source])
    assert not compiled.exists()


def test_a_folder_that_cannot_be_written_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert not tiers.forget_stale(tmp_path / "file", [])
