"""Unmodified clients against a master that is killed and two agents, one of which is."""

import json
import os
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.e2e.mesos.catalog import CLIENTS, PROGRAMS, FrameworkLine, go_executor
from tests.e2e.mesos.clients import ClientMissingError
from tests.e2e.mesos.site import MesosSite

pytestmark = [pytest.mark.mesos, pytest.mark.timeout(300)]
T = TypeVar("T")
TASKS = 100
WANTED = {"TASK_FINISHED": 80, "TASK_FAILED": 10, "TASK_KILLED": 10}
#: Of each run, these belong to `make test-mesos`; `make test-mesos-all` runs all.
OTHERS = [pytest.param(each, marks=pytest.mark.slow) for each in CLIENTS if each != "pymesos"]
#: msh has no fail-over: its framework ends with the master, and with an offer that another took.
OUTLIVES = [each for each in OTHERS if each.values != ("msh",)]


@pytest.fixture
def site(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[MesosSite]:
    made = MesosSite(tmp_path, *(["--mesos"] if "msh" in request.node.name else []))
    made.start_master()
    for name in ("a0", "a1"):
        made.start_agent(name)
    yield made
    made.close()


def line_of(client: str) -> FrameworkLine:
    return installed(CLIENTS[client], client)


def installed(install: Callable[[], T], name: str) -> T:
    try:
        return install()
    except ClientMissingError as error:
        pytest.skip(f"{name} cannot be installed: {error}")


def start(site: MesosSite, client: str, *more: str) -> "subprocess.Popen[str]":
    line = line_of(client)
    words = [*line.words, site.address, str(TASKS), "150", *more]
    variables = {**os.environ, "PYTHONPATH": "", **line.variables}
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=variables)


def result(framework: "subprocess.Popen[str]") -> list[Any]:
    """Return the output of a framework."""
    output, _ = framework.communicate(timeout=200)
    return [json.loads(each) for each in output.splitlines() if each.startswith("{")]


def ends(framework: "subprocess.Popen[str]") -> Counter[str]:
    return Counter(result(framework)[-1]["ends"].values())


def verify(site: MesosSite, counts: Counter[str]) -> None:
    """Every task has ended as it must and was started once.

    A launch that the killed master had not sent yet is reported as lost, and was never started.
    """
    lost = counts["TASK_LOST"]
    assert counts.total() == TASKS
    assert lost < TASKS // 2
    assert all(counts[state] <= number for state, number in WANTED.items())
    assert Counter(site.outputs()) == {"started\n": TASKS - lost}


def disturb(site: MesosSite, *, master: bool = True) -> None:
    """Kill the master and an agent while tasks run, and start both again."""
    wait_for_tasks(site, 1)
    if master:
        site.kill("master")
        site.start_master()
    wait_for_tasks(site, TASKS // 2)
    site.kill("a1")
    time.sleep(1)
    site.start_agent("a1")
    assert len(site.outputs()) < TASKS


def wait_for_tasks(site: MesosSite, number: int) -> None:
    """Return when so many tasks have started."""
    limit = time.monotonic() + 60
    while len(site.outputs()) < number and time.monotonic() < limit:
        time.sleep(0.05)


@pytest.mark.parametrize("client", OTHERS)
def test_every_task_ends_as_it_must(site: MesosSite, client: str) -> None:
    assert ends(start(site, client)) == WANTED


@pytest.mark.parametrize("client", ["pymesos", *OUTLIVES])
def test_no_task_is_forgotten_or_started_twice_when_master_and_agent_are_killed(
    site: MesosSite, client: str
) -> None:
    framework = start(site, client)
    disturb(site)
    verify(site, ends(framework))


@pytest.mark.slow
def test_frameworks_of_msh_outlive_an_agent(site: MesosSite) -> None:
    framework = start(site, "msh")
    disturb(site, master=False)
    assert ends(framework) == WANTED
    assert Counter(site.outputs()) == {"started\n": TASKS}


def test_an_executor_of_its_own_outlives_master_and_agent(site: MesosSite) -> None:
    framework = start(site, "pymesos", str(PROGRAMS / "pymesos_executor.py"))
    disturb(site)
    messages, last = result(framework)
    verify(site, Counter(last["ends"].values()))
    assert messages["answers"] > 0


@pytest.mark.slow
def test_the_executor_of_mesos_go_runs_tasks_over_protobuf(site: MesosSite) -> None:
    program = installed(go_executor, "the executor of mesos-go")
    assert ends(start(site, "pymesos", str(program))) == {"TASK_FINISHED": TASKS}
