"""Formats are recognised by content, and unknown files are compared with the nearest format."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from stretto.base.errors import InputError
from stretto.inputs.neutral.layouts import FileLayout, FileSample, Syntax, compare_layout
from stretto.inputs.neutral.streams import read_start, text_lines
from stretto.inputs.traces.downloads import table_files
from stretto.inputs.traces.recognition import recognise, recognised

PHILLY = "job_id,submit_time_s,num_gpus,duration_s\n1,0,2,60\n"
OPENB = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,0,0\n"
SPACES = FileLayout(
    what="work log", required=("id", "at"), syntax=Syntax.SPACES, header=False, cells={"at": r"\d+"}
)
EVENTS = FileLayout(what="events", required=("time", "size.cpus"), syntax=Syntax.JSON)


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def tarred(folder: Path, text: str) -> Path:
    path = folder / "table.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        entry = tarfile.TarInfo("table.csv")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text.encode()))
    return path


@pytest.mark.parametrize(("text", "name"), [(PHILLY, "philly"), (OPENB, "openb")])
def test_a_table_is_recognised_by_its_columns(tmp_path: Path, text: str, name: str) -> None:
    assert recognise(written(tmp_path, "any.txt", text)).format == name


def test_a_folder_is_recognised_by_a_file_below_it(tmp_path: Path) -> None:
    written(tmp_path, "a/README.md", "a,b\n")
    written(tmp_path, "a/b/jobs.csv", PHILLY)
    assert recognise(tmp_path).format == "philly"


def test_an_unknown_table_is_answered_with_formats_nearest_and_difference(tmp_path: Path) -> None:
    path = written(tmp_path, "x.csv", PHILLY.replace("num_gpus", "gpus"))
    with pytest.raises(InputError) as caught:
        recognised(path)
    message = str(caught.value)
    assert "openb, philly, azure-vm" in message
    assert "nearest: philly (job list), but it lacks the column num_gpus and has gpus" in message


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "got 'an empty file', expected a trace"),
        (b" \n\n", "got 'an empty file'"),
        (bytes(range(256)), "got 'a binary file'"),
        ("id,cpu\n1,2\n".encode("utf-16"), "got 'text in UTF-16'"),
    ],
)
def test_a_file_without_a_table_is_named_for_what_it_is(
    tmp_path: Path, content: bytes, found: str
) -> None:
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(InputError) as refused:
        recognised(tmp_path / "x.csv")
    assert found in str(refused.value)
    assert "map its columns" not in str(refused.value)


def test_a_table_that_resembles_nothing_points_to_the_guide(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"docs/traces\.md shows the files"):
        recognised(written(tmp_path, "x.csv", "red,green,blue\n1,2,3\n"))


@pytest.mark.parametrize(
    ("text", "differs"),
    [
        ("; a comment\n1 20\n", ""),
        ("1 20 30\n", "it has 3 cells in a line instead of 2"),
        ("1 soon\n", "its cell 2 (at) is 'soon'"),
        ("one\n", "its lines are no cells separated by spaces"),
    ],
)
def test_a_table_without_header_is_compared_by_its_cells(text: str, differs: str) -> None:
    assert compare_layout(FileSample.of("log", text.encode()), SPACES).differs == differs


@pytest.mark.parametrize(
    ("text", "differs"),
    [
        ('{"time": 1, "size": {"cpus": 2}}\n', ""),
        ('[{"time": 1, "size": {"cpus": 2}},\n', ""),
        ('{"time": 1}\n', "it lacks the key size.cpus"),
        ("time,size\n", "it has none of the keys time, size.cpus"),
    ],
)
def test_objects_are_compared_by_their_keys(text: str, differs: str) -> None:
    assert compare_layout(FileSample.of("e.json", text.encode()), EVENTS).differs == differs


def test_a_binary_file_has_no_layout() -> None:
    match = compare_layout(FileSample.of("x", b"\0\1\2"), EVENTS)
    assert (match.score, match.differs) == (0.0, "the file is empty or binary")


def test_the_files_of_a_download_are_sorted_by_layout(tmp_path: Path) -> None:
    jobs = FileLayout(what="jobs", required=("job_id", "num_gpus"))
    shards = [written(tmp_path, f"part-{n:03}.csv", PHILLY) for n in (0, 1)]
    written(tmp_path, "other.csv", "red,green\n")
    assert table_files(tmp_path, [jobs]) == {"jobs": shards}


@pytest.mark.parametrize("pack", ["plain", "gzip", "tar"])
def test_lines_are_read_from_plain_and_packed_files(tmp_path: Path, pack: str) -> None:
    text = "\ufeffa,b\r\nc,d"
    path = written(tmp_path, "x", text)
    if pack == "gzip":
        path.write_bytes(gzip.compress(text.encode()))
    elif pack == "tar":
        path = tarred(tmp_path, "a,b\r\nc,d")
    assert list(text_lines(path)) == [(1, "a,b"), (2, "c,d")]
    assert b"a,b" in read_start(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb\0\n", "line 2: got b'b\\x00\\n', expected text, not a binary file"),
        (b"a\n\xff\n", "line 2: got b'\\xff', expected UTF-8 text"),
        (gzip.compress(b"abc\n" * 999, mtime=0)[:30], "a readable file"),
    ],
)
def test_bad_lines_are_refused_with_their_number(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        list(text_lines(path))
    assert message in str(caught.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a readable file"):
        read_start(tmp_path / "none.csv")
