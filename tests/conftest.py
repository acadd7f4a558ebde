"""Settings of all tests: numbers of examples of properties, optional data beside the clone."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, settings

from stretto.base.collector import set_thresholds, settle
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig
from stretto_lab.control_plane.credentials import CertificateUser

# The quick profile draws the same examples every time, so that a red run is about the change at
# hand. `HYPOTHESIS_PROFILE=thorough` looks further, and elsewhere each time. No deadline: two
# busy cores are no reason to fail.
settings.register_profile(
    "quick",
    derandomize=True,
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "thorough",
    deadline=None,
    max_examples=1000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# A real server: few examples, and no hour of shrinking against it.
settings.register_profile(
    "server",
    deadline=None,
    max_examples=3,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# A shell that runs the suite in the background has it ignore Ctrl-C, and so would every program
# that a test starts and then interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Variables that change colors, line widths or endpoints of programs between machines.
for _name in ("FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS", "http_proxy", "https_proxy", "all_proxy"):
    os.environ.pop(_name, None)
    os.environ.pop(_name.upper(), None)

# A test that finds no compiled kernels decides on the NumPy tier and starts no compiler.
os.environ["STRETTO_BACKGROUND_COMPILE"] = "0"

# Results and records of tests do not go to the folder of the user who runs them.
_STATE = TemporaryDirectory(prefix="stretto-tests-")
os.environ["STRETTO_STATE"] = _STATE.name

ROOT = Path(__file__).resolve().parents[1]


def pytest_collection_finish() -> None:
    """Spare the garbage collector the modules and tests, which live as long as the process."""
    set_thresholds()
    settle()


@pytest.fixture(scope="session")
def repo_root() -> Path:
    """The root of the clone."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The published traces, if they are beside the clone (or at STRETTO_SHARED_DATA)."""
    named = os.environ.get("STRETTO_SHARED_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the published traces are not beside this clone (../shared/data)")
    return folder


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """A real API server over etcd with our CRDs, for tests that restore its initial state."""
    with ControlPlane(ControlPlaneConfig(users=(CertificateUser("guest"),))) as plane:
        plane.install()
        yield plane
