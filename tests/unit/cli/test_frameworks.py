"""Frameworks and tasks of a master, as ``explain``, ``story`` and ``offers`` show them."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from stretto.base.clock import WallClock
from stretto.base.rng import Rng
from stretto.cli.main import COMPLETE, cli
from stretto_lab.bench.offers.clients import LoadAgent, LoadFramework, Tally
from tests.support.served_master import served

NAME = "framework 0"
_R = TypeVar("_R")


def invoked(*lines: list[str]) -> list[Result]:
    """Commands beside a master with one framework and one agent, after a task has finished."""

    def run(words: list[str]) -> Result:
        return CliRunner().invoke(cli, [*words, "--json", "-"])

    return beside_master(run, *lines)


def completed(words: list[str]) -> list[str]:
    """Return the completions for the value of the last option, beside the name of the master."""
    *before, last = words[0], *words[-2:], *words[1:-2]
    shell = ShellComplete(cli, {}, "stretto", COMPLETE)
    return [each.value for each in shell.get_completions([*before, last], "")]


def beside_master(act: Callable[[list[str]], _R], *lines: list[str]) -> list[_R]:
    """Act on lines that name a master with one framework and one agent."""
    results: list[_R] = []

    async def scene(port: int) -> None:
        tally, now = Tally(), WallClock().monotonic
        clients = [LoadAgent(port, 0, Rng(1)), LoadFramework(port, 0, tally, now)]
        running = [asyncio.create_task(each.run()) for each in clients]
        for _ in range(1000):
            await asyncio.sleep(0.01)
            if tally.ends.get("TASK_FINISHED"):
                break
        for words in lines:
            line = [*words, "--master", f"http://127.0.0.1:{port}"]
            results.append(await asyncio.to_thread(act, line))
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        for client in clients:
            client.close()

    served(scene)
    return results


def test_a_framework_is_explained_by_both_verbs() -> None:
    for result in invoked(["explain", "--framework", NAME], ["offers", "--framework", NAME]):
        found = json.loads(result.stdout)
        assert found["schema"] == "stretto.offers/v1"
        assert [each["name"] for each in found["frameworks"]] == [NAME]
        assert "obstacles" in found


def test_the_states_of_a_task_are_shown_by_both_verbs() -> None:
    for result in invoked(["story", "--task", "m-0000-1"], ["offers", "--task", "m-0000-1"]):
        (task,) = json.loads(result.stdout)["tasks"]
        assert [each["state"] for each in task["statuses"]] == ["TASK_FINISHED"]


def test_a_shell_completes_frameworks_agents_and_tasks_of_a_master() -> None:
    lines = (["explain", "--framework"], ["offers", "--agent"], ["story", "--task"])
    frameworks, agents, tasks = beside_master(completed, *lines)
    assert (frameworks, agents) == (["m-0000"], ["m-S0"])
    assert "m-0000-1" in tasks


def test_without_a_master_no_framework_is_proposed() -> None:
    line = ["explain", "--framework", "--master", "http://127.0.0.1:1"]
    assert completed(line) == []


def test_an_unknown_framework_agent_or_task_is_not_found() -> None:
    texts = ["framework 'frame 0'"] * 2 + ["agent 'm-S9'", "task 'x'", "task 'x'"]
    found = invoked(
        ["explain", "--framework", "frame 0"],
        ["offers", "--framework", "frame 0"],
        ["explain", "--framework", NAME, "--agent", "m-S9"],
        ["story", "--task", "x"],
        ["offers", "--task", "x"],
    )
    assert [each.exit_code for each in found] == [6] * 5
    pairs = zip(texts, found, strict=True)
    assert all(f"{text} was not found" in each.stderr for text, each in pairs)
    assert all("did you mean" in each.stderr for each in found[:3])


@pytest.mark.parametrize(
    "words",
    [
        ["explain", "--agent", "m-S0"],
        ["offers", "--agent", "m-S0"],
        ["explain", "web-0", "--framework", "f"],
        ["explain", "--framework", "f", "--on", "cluster"],
        ["explain", "--framework", "f", "--runs"],
        ["explain", "--framework", "f", "--namespace", "n"],
        ["explain", "web-0", "--master", "http://127.0.0.1:1"],
        ["agent", "--once", "--limits", "cap"],
        ["agent", "--tasks", "--node", "n"],
        ["master", "--context", "c"],
        ["master", "--task-ports", "5"],
        ["story", "web-0", "--task", "t"],
        ["story", "web-0", "--master", "http://127.0.0.1:1"],
        ["story"],
    ],
)
def test_options_that_exclude_each_other_are_usage_errors(words: list[str]) -> None:
    assert CliRunner().invoke(cli, words).exit_code == 2


@pytest.mark.parametrize("agent", ["agent0", "m-S0"])
def test_an_agent_is_named_by_its_host_too(agent: str) -> None:
    (found,) = invoked(["explain", "--framework", NAME, "--agent", agent])
    assert found.exit_code == 0
    # between two declined offers there is none
    assert {each["agent"] for each in json.loads(found.stdout)["obstacles"]} <= {"m-S0"}


def test_a_task_of_another_framework_is_not_found() -> None:
    mine, other = invoked(
        ["offers", "--framework", NAME, "--task", "m-0000-1"],
        ["offers", "--framework", "other", "--task", "m-0000-1"],
    )
    assert (mine.exit_code, other.exit_code) == (0, 6)
    assert "framework 'other' was not found: the master has 1 framework" in other.stderr


@pytest.mark.parametrize("option", ["--ca", "--token"])
def test_a_file_that_a_plain_master_cannot_use_is_refused(option: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("two\nlines")
    result = CliRunner().invoke(cli, ["offers", option, str(file)])
    assert (result.exit_code, f"{option}: got" in result.stderr) == (2, True)


def test_a_master_without_frameworks_shows_no_empty_tables() -> None:
    texts: list[str] = []

    async def scene(port: int) -> None:
        line = ["offers", "--master", f"http://127.0.0.1:{port}"]
        result = await asyncio.to_thread(CliRunner().invoke, cli, line)
        texts.append(result.stdout)

    served(scene)
    assert texts == ["no roles\nno frameworks\nno offers\n"]
