"""Reading the published curves."""

from pathlib import Path

import pytest

from stretto.base.errors import InputError
from stretto.sim.comparison.published import read_published, workload_of

HEAD = "workload,policy,metric,arrive_pct,n_seeds,mean,sd,min,max\n"


def curves_file(folder: Path, *rows: str) -> Path:
    path = folder / "published.csv"
    path.write_text(HEAD + "".join(f"{row}\n" for row in rows))
    return path


def test_curves_are_found_by_list_policy_and_metric(tmp_path: Path) -> None:
    path = curves_file(
        tmp_path, "default,FGD,alloc_pct,100,10,95.2,0,0,0", "cpu100,FGD,alloc_pct,100,10,1,0,0,0"
    )
    assert read_published(path, "default") == {"fgd": {"alloc_pct": {100: 95.2}}}


def test_a_list_that_the_file_does_not_have_is_refused(tmp_path: Path) -> None:
    path = curves_file(tmp_path, "default,FGD,alloc_pct,100,10,95.2,0,0,0")
    with pytest.raises(InputError, match=r"expected a pod list of the file \(default\)"):
        read_published(path, "cpu100")


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        ("default,Fgd,alloc_pct,100,10,95.2,0,0,0", "line 2, column policy: got 'Fgd'"),
        ("default,FGD,alloc,100,10,95.2,0,0,0", "line 2, column metric: got 'alloc'"),
        ("default,FGD,alloc_pct,x,10,95.2,0,0,0", "line 2, column arrive_pct: got 'x'"),
    ],
)
def test_a_wrong_cell_is_named(tmp_path: Path, row: str, wrong: str) -> None:
    with pytest.raises(InputError, match=wrong):
        read_published(curves_file(tmp_path, row), "default")


def test_the_list_is_known_by_the_name_of_its_file() -> None:
    assert workload_of(Path("a/openb_pod_list_multigpu50.csv")) == "multigpu50"
    assert workload_of(Path("mine.csv")) == "default"
