"""The choice of the kernel tier."""

import subprocess
import sys

import pytest

from stretto.base.errors import MissingExtraError, UnknownNameError
from stretto.framework.kernels import tiers
from stretto.framework.kernels.cache import KernelCache, KernelSet
from stretto.framework.kernels.tiers import kernel, resolve


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> set[KernelSet]:
    """The sets of kernels that count as compiled; none at first."""
    sets: set[KernelSet] = set()
    monkeypatch.setattr(
        KernelCache,
        "is_compiled",
        lambda self, part=KernelSet.ALL: not sets.isdisjoint({part, KernelSet.ALL}),
    )
    monkeypatch.setattr(tiers, "has_numba", lambda: True)
    return sets


def test_the_numpy_tier_can_be_selected() -> None:
    assert kernel("numpy").name == "numpy"


def test_auto_decides_on_numpy_until_the_kernels_are_compiled(compiled: set[KernelSet]) -> None:
    assert kernel("auto").name == resolve("auto") == "numpy"
    compiled.add(KernelSet.ALL)
    assert resolve("auto") == "numba"


def test_numba_is_used_on_request_whether_compiled_or_not(compiled: set[KernelSet]) -> None:
    assert resolve("numba") == "numba"


@pytest.mark.skipif(not tiers.has_numba(), reason="numba is not installed")
def test_auto_places_with_the_kernels_of_a_first_run_and_searches_on_numpy(
    compiled: set[KernelSet],
) -> None:
    compiled.add(KernelSet.FIRST)
    found = kernel("auto")
    assert (found.name, found.compiles_searches) == ("numba", False)
    compiled.add(KernelSet.ALL)
    assert kernel("auto").compiles_searches


def test_an_unknown_tier_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean numba or numpy"):
        kernel("numbpa")


def test_without_numba_auto_is_numpy_and_numba_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "has_numba", lambda: False)
    assert kernel("auto").name == "numpy"
    with pytest.raises(MissingExtraError, match="stretto\\[kernels\\]"):
        kernel("numba")


def test_the_numpy_tier_and_the_profile_import_no_numba() -> None:
    code = (
        "import sys; from stretto.framework.kernels.tiers import kernel; kernel('numpy');"
        "from stretto.framework.profile.profile import load_profile; load_profile('fgd');"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
