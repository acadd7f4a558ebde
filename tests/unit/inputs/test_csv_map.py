"""Batch jobs in a CSV file of any columns, by a map."""

from pathlib import Path

import pytest

from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.inputs.scenario.feed import materialise
from stretto.inputs.scenario.read import load_scenario
from stretto.inputs.traces.batch.columns import load_mapped
from stretto.inputs.traces.batch.jobs import BatchJob
from stretto.inputs.traces.batch.maps import MappedJobs
from stretto.inputs.traces.formats import load_trace

HEADER = "id,submitted,minutes,cores,mem_gb,gpu,team,owner,class,limit"
ROW = "a,2025-01-06 10:00:00,2,4,1.5,2,red,eva,high,1:00:00"
MAP = """
submit: {column: submitted, zone: Europe/Berlin}
duration: {column: minutes, unit: min}
cpu: cores
memory: {column: mem_gb, unit: GiB}
gpus: gpu
name: id
user: owner
queue: team
priority: {column: class, values: {high: 100, low: 0}}
estimate: limit
"""


def written(folder: Path, columns: str, *lines: str) -> MappedJobs:
    (folder / "map.yaml").write_text(columns)
    (folder / "jobs.csv").write_text("\n".join(lines) + "\n")
    return MappedJobs(jobs=str(folder / "jobs.csv"), columns=str(folder / "map.yaml"))


def jobs_of(folder: Path, columns: str, *lines: str) -> tuple[BatchJob, ...]:
    keys = written(folder, columns, *lines)
    return load_mapped(Path(keys.jobs), keys)


def one(folder: Path, columns: str, cell: str) -> BatchJob:
    """The job of a file with the columns s and x."""
    return jobs_of(folder, columns, "s,x", f"0,{cell}")[0]


def refused(folder: Path, columns: str, *lines: str) -> str:
    with pytest.raises(InputError) as caught:
        jobs_of(folder, columns, *lines)
    return str(caught.value).replace(f"{folder}/", "")


def test_a_row_is_a_job(tmp_path: Path) -> None:
    (job,) = jobs_of(tmp_path, MAP, HEADER, ROW)
    assert job == BatchJob(
        job_id="a", submit_s=0, duration_s=120, cpu_milli=4000, memory_mib=1536, gpus=2,
        estimate_s=3600, priority=100, user="eva", queue="red",
    )  # fmt: skip


def test_times_of_one_zone_are_compared_with_times_of_another(tmp_path: Path) -> None:
    columns = "submit: {column: s, zone: Europe/Berlin}\nduration: 1"
    lines = ("s", "2025-03-30 01:59:00", "2025-03-30 03:01:00", "2025-03-30T01:02:00+00:00")
    assert [job.submit_s for job in jobs_of(tmp_path, columns, *lines)] == [0, 120, 180]


@pytest.mark.parametrize(
    ("spec", "cell", "seconds"),
    [
        ("x", "90", 90),
        ("{column: x, unit: h}", "1.5", 5400),
        ("{column: x, unit: ms}", "1500", 1.5),
        ("{column: x, factor: 300}", "2", 600),
        ("x", "01:02:03", 3723),
        ("x", "2-00:00:01", 172801),
        ("x", "02:03.5", 123.5),
        ("{column: x, default: 7}", "NA", 7),
        ("7", "ignored", 7),
    ],
)
def test_a_duration_has_a_unit_or_is_a_clock(
    tmp_path: Path, spec: str, cell: str, seconds: float
) -> None:
    job = one(tmp_path, f"submit: s\nduration: {spec}", cell)
    assert (job.duration_s, job.omitted) == (seconds, "")


def test_a_run_time_is_the_time_from_start_to_end(tmp_path: Path) -> None:
    columns = "submit: s\nstart: b\nend: e"
    assert jobs_of(tmp_path, columns, "s,b,e", "0,10,25")[0].duration_s == 15
    assert jobs_of(tmp_path, "submit: s\nend: e", "s,b,e", "5,10,25")[0].duration_s == 20


def test_a_time_has_the_stated_format(tmp_path: Path) -> None:
    columns = 'submit: {column: s, format: "%d.%m.%Y %H:%M"}\nduration: 1'
    jobs = jobs_of(tmp_path, columns, "s", "06.01.2025 10:00", "06.01.2025 10:02")
    assert jobs[1].submit_s == 120


@pytest.mark.parametrize(
    ("line", "value", "expected"),
    [
        ("cpu: {column: x, unit: percent}", "250", {"cpu_milli": 2500}),
        ("cpu: {column: x, unit: milli}", "250", {"cpu_milli": 250}),
        ("memory: {column: x, unit: MB}", "1048.576", {"memory_mib": 1000}),
        ("memory: {column: x, unit: KiB}", "1025", {"memory_mib": 2}),
        ("memory: 512", "", {"memory_mib": 512}),
        ("cpu: 2", "", {"cpu_milli": 2000}),
        ("gpus: x", "0.25", {"gpus": 1, "gpu_milli": 250}),
        ("gpus: {column: x, unit: percent}", "200", {"gpus": 2, "gpu_milli": 1000}),
        ("gpus: {column: x, values: {V100: 1, none: 0}}", "V100", {"gpus": 1}),
        ("{cpu: 2, pods: x}", "3", {"cpu_milli": 6000, "nodes": 3}),
        ("{cpu: 6, pods: x, requests: job}", "3", {"cpu_milli": 6000, "nodes": 3}),
    ],
)
def test_an_amount_has_a_unit(
    tmp_path: Path, line: str, value: str, expected: dict[str, int]
) -> None:
    columns = f"submit: s\nduration: 1\n{line.strip('{}').replace(', pods', chr(10) + 'pods')}"
    columns = (
        columns.replace(", requests", "\nrequests")
        if line.startswith("{")
        else (f"submit: s\nduration: 1\n{line}")
    )
    job = one(tmp_path, columns, value)
    assert {name: getattr(job, name) for name in expected} == expected


def test_unknown_cells_omit_a_job(tmp_path: Path) -> None:
    columns = "submit: s\nduration: x"
    jobs = jobs_of(tmp_path, columns, "s,x", "NA,1", "0,-1", "3,4")
    assert [job.omitted for job in jobs] == ["no submission time", "no run time", ""]


def test_rows_without_names_are_numbered(tmp_path: Path) -> None:
    jobs = jobs_of(tmp_path, "submit: s\nduration: 1", "s", "0", "0")
    assert [job.job_id for job in jobs] == ["1", "2"]


def test_cells_may_have_another_separator(tmp_path: Path) -> None:
    columns = "submit: s\nduration: x\nseparator: ';'"
    assert jobs_of(tmp_path, columns, "s;x", '0;"1:00"')[0].duration_s == 60


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("submit: sub\nduration: x", "map.yaml: submit: got 'sub', expected a column of jobs.csv:"),
        ("submit: s\nduration: xx", "did you mean 'x'?"),
        ("submit: s\nduratoin: x", "unknown key; did you mean 'duration'?"),
        ("submit: {colum: s}\nduration: 1", "unknown key; did you mean 'column'?"),
        ("duration: x", "submit"),
        ("submit: s", "map.yaml: got nothing, expected exactly one of duration, end"),
        ("submit: s\nduration: x\nend: x", "got 'duration and end'"),
        ("submit: s\nduration: 1\nstart: x", "map.yaml: start: got 'x', expected end as well"),
        (
            "submit: s\nduration: {column: x, unit: hours}",
            "duration.unit: got 'hours', expected one",
        ),
        ("submit: s\nduration: {column: x, factor: -1}", "expected a number above 0"),
        (
            "submit: s\nduration: 1\nzone: Berlin",
            "map.yaml: zone: got 'Berlin', expected a time zone",
        ),
        ("submit: s\nduration: 1\nseparator: abc", "expected one character"),
        ("submit: s\nduration: 1\ncpu: -1", "cpu: got"),
        ("submit: s\nduration: 1\nrequests: pods", "did you mean 'pod'?"),
        ("submit: s\nduration: 1e300", "duration: got 1e+300, expected a column, or a number 0.."),
        (
            "submit: {column: huge}\nduration: 1",
            "column huge: got '1736150400000', expected a number",
        ),
        ("[1]", "expected one mapping of values to columns"),
        ("", "expected text in the file"),
        ("submit: s\nduration: x", "line 2, column x: got 'soon', expected a duration"),
        ("submit: x\nduration: 1", "column x: got 'soon', expected a number of seconds"),
        ("submit: {column: x, format: '%Y'}\nduration: 1", "expected a time of the format %Y"),
        ("submit: s\nduration: 1\ncpu: x", "column x: got 'soon', expected a number 0.."),
        ("submit: s\nduration: 1\npods: half", "column half: got '0.5', expected an integer"),
        ("submit: s\nduration: 1\ngpus: more", "column more: got '1.5', expected whole GPUs"),
        ("submit: s\nend: s\nstart: half", "column s: got '0', expected a time not before start"),
    ],
)
def test_a_map_that_does_not_fit_is_refused(tmp_path: Path, columns: str, message: str) -> None:
    assert message in refused(
        tmp_path, columns, "s,x,half,more,huge", "0,soon,0.5,1.5,1736150400000"
    )


def test_a_name_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    message = refused(tmp_path, "submit: s\nduration: 1\nname: x", "s,x", "0,a", "0,a")
    assert "line 3, column x: got 'a', expected a unique name (line 2 has it already)" in message


def test_a_file_without_map_states_how_to_give_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"give --columns MAP\.yaml"):
        load_trace("csv", tmp_path / "jobs.csv")


def test_a_map_is_a_key_in_python(tmp_path: Path) -> None:
    keys = written(tmp_path, MAP, HEADER, ROW)
    fleet = load_trace("csv", Path(keys.jobs), columns=keys.columns)
    assert [(pod.name, pod.gpus) for pod in fleet.pods] == [("job-a-0", 1), ("job-a-1", 1)]


@pytest.mark.parametrize("columns", ["map.yaml", "{submit: s, duration: x}"])
def test_a_scenario_names_or_holds_the_map(tmp_path: Path, columns: str) -> None:
    written(tmp_path, "submit: s\nduration: x", "s,x", "0,5")
    (tmp_path / "s.yaml").write_text(
        "fleet: {like: 4cpu-8gib:1}\n"
        f"workloads: [{{csv: {{jobs: jobs.csv, columns: {columns}}}}}]\n"
    )
    feed = materialise(load_scenario(tmp_path / "s.yaml"), Rng(0))
    assert [each.duration_s for each in feed.arrivals] == [5]
