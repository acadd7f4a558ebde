"""The group: lazy, shared options on both sides of the verb, every error ended in one place."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from stretto import __version__
from stretto.base.errors import DoesNotFitError, NotFoundError
from stretto.cli import main, verbs
from stretto.cli.failures import Terminated
from stretto.cli.options import CommandContext, command

Invoke = Callable[..., Result]
HEAVY = ("numpy", "numba", "matplotlib", "rich", "aiohttp", "http.client", "urllib.request", "yaml")


@dataclass(frozen=True)
class RequestsOf:
    """Options of the probe."""

    fail: str


FAILURES: dict[str, Callable[[], BaseException]] = {
    "fit": lambda: DoesNotFitError("2 pods"),
    "found": lambda: NotFoundError("pod x"),
    "bug": lambda: ZeroDivisionError("division by zero"),
    "memory": MemoryError,
    "depth": RecursionError,
    "ctrl-c": KeyboardInterrupt,
    "term": Terminated,
    "pipe": lambda: BrokenPipeError(32, "Broken pipe"),
    "missing": lambda: FileNotFoundError(2, "No such file or directory", "a.csv"),
    "long": lambda: OSError(36, "File name too long", "9" * 999),
    "full": lambda: OSError(28, "No space left on device", "run.sqlite"),
}


@command("probe", RequestsOf, example="stretto probe --fail bug", out=True)
@click.option("--fail", default="", help="How to fail.")
def probe(common: CommandContext, requested: RequestsOf) -> None:
    """Fail as requested, or print the input."""
    if requested.fail:
        error = FAILURES[requested.fail]()
        raise error
    console = common.console
    console.note("a note")
    console.table(["name", "pods"], [["a", 1], ["b", 22]])
    reported = {"seed": common.seed, "quiet": console.quiet, "verbose": console.verbose}
    console.json("stretto.probe/v1", reported)


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch) -> Invoke:
    module = sys.modules[__name__]
    monkeypatch.setitem(sys.modules, "stretto.cli.commands.probe", module)
    probe = {"probe": verbs.Verb("stretto.cli.commands.probe:probe", "Fail as told.")}
    monkeypatch.setattr(main, "known", lambda: probe)
    return lambda *words: CliRunner().invoke(main.cli, words)


def loaded_by(*words: str) -> set[str]:
    code = (
        "import sys\n"
        "from stretto.cli.main import cli\n"
        f"try: cli({list(words)!r})\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        f"print(*[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(child.stderr.split())


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_help_and_version_import_nothing_heavy(word: str) -> None:
    assert loaded_by(word) == set()


def test_a_warning_of_a_library_reads_like_one_of_the_command_line() -> None:
    code = (
        "import click, warnings; from stretto.cli.main import start\n"
        "class Verbs(click.Group):\n"
        "    def main(self): warnings.warn('the field is unknown')\n"
        "start(Verbs())"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert child.stderr == "stretto: warning: the field is unknown\n"


def test_version_is_the_packages(invoke: Invoke) -> None:
    assert invoke("--version").output == f"stretto {__version__}\n"


def test_help_of_a_verb_shows_its_example(invoke: Invoke) -> None:
    assert "Example:\n  stretto probe --fail bug\n" in invoke("probe", "--help").output


def test_help_lists_shared_options_apart(invoke: Invoke) -> None:
    own, shared = invoke("probe", "--help").output.split("Options of every command:")
    assert "--fail" in own
    assert "--json" not in own
    assert "--json" in shared
    assert "--out" in shared


@pytest.mark.parametrize(
    "words",
    [
        ("--seed", "0", "-q", "--json", "-", "probe"),
        ("probe", "--seed", "0", "-q", "--json", "-"),
        ("--seed", "7", "probe", "-q", "--seed", "0", "--json", "-"),
    ],
)
def test_shared_options_stand_on_either_side_and_the_later_wins(
    invoke: Invoke, words: tuple[str, ...]
) -> None:
    reported = json.loads(invoke(*words).stdout)
    assert (reported["seed"], reported["quiet"]) == (0, True)


def test_data_goes_to_stdout_and_notes_to_stderr(invoke: Invoke) -> None:
    result = invoke("probe")
    assert "22" in result.stdout
    assert "a note" not in result.stdout
    assert "a note" in result.stderr


def test_json_on_stdout_moves_the_table_to_stderr(invoke: Invoke) -> None:
    result = invoke("probe", "--json", "-")
    assert json.loads(result.stdout)["seed"] == 0
    assert "22" in result.stderr


def test_json_goes_to_a_file_whole(invoke: Invoke, tmp_path: Path) -> None:
    invoke("probe", "--json", str(tmp_path / "a.json"))
    assert json.loads((tmp_path / "a.json").read_text())["schema"] == "stretto.probe/v1"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize(
    ("how", "code", "said"),
    [
        ("fit", 3, "2 pods cannot be placed"),
        ("found", 6, "pod x was not found"),
        ("bug", 1, "unexpected ZeroDivisionError: division by zero (-v shows the traceback)"),
        ("memory", 1, "out of memory"),
        ("depth", 1, "nested too deeply"),
        ("ctrl-c", 130, "stretto: interrupted"),
        ("term", 130, "stretto: terminated"),
        ("missing", 2, "a.csv: No such file or directory"),
        ("long", 2, "9…: File name too long; use a shorter path"),
        ("full", 1, "run.sqlite: No space left on device"),
    ],
)
def test_an_error_is_one_line_and_an_exit_code(
    invoke: Invoke, how: str, code: int, said: str
) -> None:
    result = invoke("probe", "--fail", how)
    assert (result.exit_code, result.stdout) == (code, "")
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_reader_that_went_away_is_no_news(invoke: Invoke) -> None:
    result = invoke("probe", "--fail", "pipe")
    assert (result.exit_code, result.output) == (141, "")


def test_verbose_shows_where_a_bug_is(invoke: Invoke) -> None:
    assert "Traceback" in invoke("probe", "-v", "--fail", "bug").stderr


def test_with_json_an_error_is_an_object_on_stderr(invoke: Invoke) -> None:
    result = invoke("probe", "--fail", "found", "--json", "-")
    reported = json.loads(result.stderr)
    assert reported["schema"] == "stretto.error/v1"
    assert reported["error"]["exit_code"] == 6
    assert reported["error"]["kind"] == "NotFoundError"
    assert result.stdout == ""


@pytest.mark.parametrize(
    "words",
    [
        ("prob",),
        ("probe", "--fial", "x"),
        ("probe", "--seed", "-1"),
        ("probe", "--json", "no/such/folder/a.json"),
        ("probe", "--json", "."),
        ("probe", "--out", "no/such/folder"),
    ],
)
def test_wrong_usage_is_exit_2_before_any_work(invoke: Invoke, words: tuple[str, ...]) -> None:
    result = invoke(*words, "--fail", "bug")
    assert result.exit_code == 2
    assert "error" in result.stderr


def test_a_mistyped_verb_names_the_nearest(invoke: Invoke) -> None:
    assert "did you mean probe?" in invoke("prob").stderr


def test_a_usage_error_before_parsing_is_json_too(invoke: Invoke) -> None:
    assert json.loads(invoke("probe", "--json=-", "--nope").stderr)["error"]["exit_code"] == 2


@pytest.mark.parametrize("words", [("version",), ("-V",), ("--version",)])
def test_the_version_has_three_spellings(invoke: Invoke, words: tuple[str, ...]) -> None:
    result = invoke(*words)
    assert (result.exit_code, result.output) == (0, f"stretto {__version__}\n")


@pytest.mark.parametrize("words", [("help",), ("help", "probe")])
def test_help_is_a_command_too(invoke: Invoke, words: tuple[str, ...]) -> None:
    result = invoke(*words)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.output == invoke(*words[1:], "--help").output


def test_help_for_an_unknown_command_names_the_nearest(invoke: Invoke) -> None:
    result = invoke("help", "prob")
    assert result.exit_code == 2
    assert "did you mean probe?" in result.stderr


def test_commands_are_listed_by_group() -> None:
    output = CliRunner().invoke(main.cli, ["--help"]).output
    headings = [line for line in output.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings[-4:] == [
        "Offline commands:",
        "Cluster commands:",
        "Daemons:",
        "Research commands:",
    ]
    assert all(f"  {name} " in output for name in verbs.known())


def test_verbose_is_a_flag(invoke: Invoke) -> None:
    assert json.loads(invoke("probe", "-v", "-v", "--json", "-").stdout)["verbose"] is True
