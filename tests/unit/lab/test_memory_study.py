"""The memory part of the reclaim study on made machines: shares add up, and shortages count."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from stretto.base.errors import InputError
from stretto.cli.main import cli
from stretto.framework.profile.capacity.reclaim import MemoryEstimator
from stretto.inputs.traces.memory_use import VmMemory, read_memory_use
from stretto_lab.studies.reclaim.memory import MemoryPoint, MemoryStudy, memory_plots, memory_points

GIB = 1 << 30
MADE = Path(__file__).with_name("data")
SMALL = MemoryStudy(nodes=2, gib=16, hours=2.0)
HEADER = "CPU cores; Memory capacity provisioned [KB]; Memory usage [KB]"


def points(*vms: VmMemory) -> dict[str, MemoryPoint]:
    made = {str(number): each for number, each in enumerate(vms)}
    return {each.lender: each for each in memory_points(SMALL, made)}


def test_every_estimator_of_memory_runs() -> None:
    found = points(VmMemory(8 * GIB, (2 * GIB,) * 12))
    kinds = {each.value for each in MemoryEstimator if each is not MemoryEstimator.SAME}
    assert (set(found), len(found)) == ({"requests", "hindsight", *kinds}, SMALL.runs)


def test_steady_use_is_never_short_and_hindsight_reclaims_all_of_the_rest() -> None:
    found = points(VmMemory(8 * GIB, (2 * GIB,) * 12))
    assert all(each.short_pct == 0 for each in found.values())
    assert (found["requests"].loaned_pct, found["hindsight"].loaned_pct) == (50, 87.5)
    assert found["canonical"].loaned_pct == pytest.approx(100 * (16 - 2.2) / 16, abs=0.1)


def test_memory_that_returns_is_short_for_those_that_keep_no_margin() -> None:
    found = points(VmMemory(14 * GIB, (2 * GIB,) * 11 + (14 * GIB,)))
    assert (found["hindsight"].short_pct, found["requests"].short_pct) == (0, 0)
    assert found["canonical"].short_pct == pytest.approx(100 / 12, abs=0.01)
    assert found["canonical"].worst_pct == pytest.approx(100 * (13.8 - 2) / 16, abs=0.1)


def test_no_node_uses_more_than_its_memory() -> None:
    trace = read_memory_use(MADE)
    assert all(each.node_pct <= 100 for each in memory_points(SMALL, trace))


def test_the_same_seed_gives_the_same_points_and_a_figure() -> None:
    trace = read_memory_use(MADE)
    one, two = (list(memory_points(SMALL, trace)) for _ in range(2))
    assert one == two
    assert set(memory_plots(one)) == {"reclaim-memory.png", "reclaim-memory.svg"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a;b\n1;2", "Memory usage"),
        (f"{HEADER}\n1; 5", "line 2"),
        (f"{HEADER}\n1; nan; 5", "line 2"),
        (f"{HEADER}\n1; 5; -5", "line 2"),
        (f"{HEADER}\n1; 5; 5", "at least 12 samples"),
        ("", "line 1"),
    ],
)
def test_a_trace_of_another_form_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "1.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        read_memory_use(tmp_path)


def test_options_of_the_cpu_have_no_effect_on_memory_and_are_refused() -> None:
    words = ["study", "reclaim", "--memory", str(MADE), "--limits", "65"]
    done = CliRunner().invoke(cli, words)
    assert (done.exit_code, "not with --memory" in done.output) == (2, True)
