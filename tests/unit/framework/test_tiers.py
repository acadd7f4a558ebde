"""Which kernels a runtime gets."""

import subprocess
import sys

import pytest

from stretto.base.errors import NotAllowedError, UnknownNameError
from stretto.framework import tiers
from stretto.framework.tiers import kernel


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
        "import sys; from stretto.framework.tiers import kernel; kernel('numpy');"
        "from stretto.framework.profile import load_profile; load_profile('fgd');"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
