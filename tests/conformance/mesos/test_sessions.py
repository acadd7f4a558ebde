"""The master against what a Mesos master answered."""

from pathlib import Path

import pytest

from stretto.base.errors import InputError
from stretto_lab.conformance import recordings
from stretto_lab.conformance.mesos.matching import MesosBindings, differences

RECORDED = Path(__file__).with_name("recorded.jsonl.gz")
SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "mesos" / "wire.jsonl.gz"


def test_every_recorded_step_in_the_repository_is_repeated() -> None:
    report = recordings.run(recordings.read(RECORDED), lambda _: None)
    assert report.disagreed == []
    assert report.cases == 135


@pytest.mark.slow
def test_every_recorded_step_there_is_is_repeated_or_differs_on_purpose() -> None:
    if not SHARED.exists():
        pytest.skip("the whole set of recordings is not beside this repository")
    report = recordings.run(recordings.read(SHARED), lambda _: None)
    assert report.disagreed == []
    assert report.deviations == {"internal-metrics": 3}


def test_a_line_that_is_no_record_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(
        '{"session": "a", "n": 1, "name": "x"}\n{"session": "a", "n": "two", "name": "x"}\n'
    )
    with pytest.raises(InputError, match=r"bad\.jsonl:2"):
        list(recordings.read(path))


def test_a_placeholder_keeps_its_first_value() -> None:
    bound = MesosBindings({"MASTER_ID": "m"})
    assert list(differences({"a": "${UUID0}"}, {"a": "x"}, bound)) == []
    assert list(differences({"a": "${UUID0}"}, {"a": "y"}, bound)) == [("a", "x", "y")]


def test_ids_of_offers_are_bound_one_to_one() -> None:
    bound = MesosBindings({"MASTER_ID": "m"})
    assert bound.accepts("${MASTER_ID}-O0", "m-O7")
    assert not bound.accepts("${MASTER_ID}-O1", "m-O7")
    assert bound.fill("${MASTER_ID}-O0") == "m-O7"
