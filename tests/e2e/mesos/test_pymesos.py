"""pymesos 0.3.15, unmodified, against a master that is killed and two agents, one of which is."""

import json
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.mesos.clients import ClientMissingError, pymesos
from tests.e2e.mesos.site import MesosSite

pytestmark = [pytest.mark.mesos, pytest.mark.timeout(240)]
TASKS = 120
CACHE = Path.home() / ".cache" / "stretto-mesos"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[MesosSite]:
    made = MesosSite(tmp_path)
    made.start_master()
    for number, name in enumerate(("a0", "a1")):
        made.start_agent(name, number)
    yield made
    made.close()


@pytest.fixture(scope="module")
def python() -> Path:
    try:
        return pymesos(CACHE)
    except ClientMissingError as error:
        pytest.skip(f"pymesos cannot be installed: {error}")


def start(site: MesosSite, python: Path) -> "subprocess.Popen[str]":
    script = Path(__file__).with_name("framework.py")
    line = [str(python), str(script), site.address, str(TASKS), "100"]
    return subprocess.Popen(line, stdout=subprocess.PIPE, text=True)


def ends(framework: "subprocess.Popen[str]") -> Counter[str]:
    output, _ = framework.communicate(timeout=120)
    return Counter(json.loads(output.splitlines()[-1])["ends"].values())


WANTED = {"TASK_FINISHED": 96, "TASK_FAILED": 12, "TASK_KILLED": 12}


def test_every_task_ends_as_it_must(site: MesosSite, python: Path) -> None:
    assert ends(start(site, python)) == WANTED


def test_no_task_is_lost_or_started_twice_when_master_and_agent_are_killed(
    site: MesosSite, python: Path
) -> None:
    framework = start(site, python)
    time.sleep(4)
    site.kill("master")
    site.start_master()
    time.sleep(3)
    site.kill("a1")
    site.start_agent("a1", 1)
    assert ends(framework) == WANTED
    assert Counter(site.outputs()) == {"started\n": TASKS}
