"""Structural rules: sizes, folders, imports, plugins, portability, lock files and targets of make.

A failing test names the file and the line.
"""

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

pytestmark = pytest.mark.timeout(300)  # the first test parses every module, also on a busy machine

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "stretto"
LAB = SOURCE / "stretto_lab"
KERNELS = PACKAGE / "framework" / "kernels"
PLUGINS = PACKAGE / "framework" / "plugins"

FILE_LINES = 500
FUNCTION_LINES = 60
PARAMETERS = 5
DOCSTRING_LINES = 15
FOLDER_FILES = 15
IMPORTS = 12
#: Modules that assemble parts, whose imports are not limited.
COMPOSITION_ROOTS = {
    "stretto.agent.tasks.parts",
    "stretto.cli.commands.master",
    "stretto.cli.parts.masters.cluster",
    "stretto.cli.parts.runs.prepared",
    "stretto.cli.commands.up",
    "stretto.control.dispatcher.dispatcher",
    "stretto.daemons.controllers.daemon",
    "stretto.daemons.controllers.scaler",
    "stretto.daemons.federation.daemon",
    "stretto.daemons.master",
    "stretto.daemons.roles.binder",
    "stretto.daemons.roles.dispatcher",
    "stretto.daemons.roles.shard",
    "stretto.daemons.scheduler",
    "stretto.federation.assembly",
    "stretto.framework.placers",
    "stretto.web.local.autoscaling.assembly",
    "stretto.web.local.controllers.assembly",
    "stretto.framework.plugins.table",
    "stretto.plane.controllers",
    "stretto.plane.copy",
    "stretto.plane.factory",
    "stretto.plane.offers",
    "stretto.plane.plane",
    "stretto.web.api.server",
    "stretto_lab.bench.engine.bench",
    "stretto_lab.chaos.pool.world",
}

#: Hosts of package registries, in parts so that this file does not contain them.
REGISTRIES = [
    ".".join(parts)
    for parts in [
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("proxy", "golang", "org"),
        ("crates", "io"),
        ("anaconda", "org"),
    ]
]
#: Absolute paths that exist on a single machine only.
MACHINE_PATH = re.compile(r"(?<![\w.$}/-])/(?:work|root|home|Users)/[\w.]")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def sources() -> tuple[Path, ...]:
    return tuple(sorted(SOURCE.rglob("*.py")))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def tracked_texts() -> dict[str, str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git clone: the tracked files are not known")
    texts = {}
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path.is_file() and b"\0" not in (raw := path.read_bytes()):
            texts[name] = raw.decode("utf-8", "replace")
    return texts


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def nodes_of(path: Path) -> tuple[ast.stmt, ...]:
    """Functions and imports of a file at any depth, which most rules examine."""
    wanted = Function | ast.Import | ast.ImportFrom
    return tuple(node for node in ast.walk(tree_of(path)) if isinstance(node, wanted))


def functions(path: Path) -> list[Function]:
    return [node for node in nodes_of(path) if isinstance(node, Function)]


def is_kernel(path: Path) -> bool:
    return KERNELS in path.parents


def parameters(function: Function) -> int:
    given = function.args
    names = [arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


# ---------------------------------------------------------------- sizes


def test_no_file_exceeds_its_length() -> None:
    lengths = {name_of(p): len(p.read_text(encoding="utf-8").splitlines()) for p in sources()}
    assert [f"{n}:1 has {k} lines" for n, k in lengths.items() if k > FILE_LINES] == []


def test_no_function_exceeds_its_length() -> None:
    long = [
        f"{name_of(path)}:{f.lineno} {f.name} has {(f.end_lineno or 0) - f.lineno + 1} lines"
        for path in sources()
        for f in functions(path)
        if (f.end_lineno or 0) - f.lineno + 1 > FUNCTION_LINES
    ]
    assert long == []


def test_no_function_but_a_kernel_takes_more_than_five_parameters() -> None:
    many = [
        f"{name_of(path)}:{f.lineno} {f.name} takes {parameters(f)} parameters"
        for path in sources()
        if not is_kernel(path)
        for f in functions(path)
        if parameters(f) > PARAMETERS
    ]
    assert many == []


# ---------------------------------------------------------------- packages


def test_every_folder_of_the_package_is_a_package() -> None:
    folders = {path.parent for path in sources()}
    assert [name_of(f) for f in sorted(folders) if not (f / "__init__.py").exists()] == []


def test_an_init_file_is_a_short_docstring_and_nothing_else() -> None:
    wrong = []
    for path in sources():
        if path.name != "__init__.py":
            continue
        docstring = ast.get_docstring(tree_of(path)) or ""
        if not 0 < len(docstring.splitlines()) <= DOCSTRING_LINES:
            wrong.append(f"{name_of(path)}:1 needs a docstring of 1 to {DOCSTRING_LINES} lines")
        if len(tree_of(path).body) > 1 and path.parent not in (PACKAGE, LAB):
            wrong.append(f"{name_of(path)}:{tree_of(path).body[1].lineno} contains code")
    assert wrong == []


def test_no_module_is_called_utils() -> None:
    stems_by_folder = {"utils", "util", "helpers", "misc", "common"}
    parts = {name_of(p): {*p.parts[:-1], p.stem} & stems_by_folder for p in sources()}
    assert [name for name, found in parts.items() if found] == []


#: Folders with one file for each rule or each command, whose number is not limited.
OPEN_FOLDERS = {
    "stretto/framework/plugins",
    "stretto/framework/plugins/parity",
    "stretto/cli/commands",
    "stretto_lab/commands",
}


def stems_by_folder() -> dict[str, list[str]]:
    """Module stems by folder, without ``__init__`` and without the open folders."""
    found: dict[str, list[str]] = {}
    for path in sources():
        folder = path.parent.relative_to(SOURCE).as_posix()
        if path.stem != "__init__" and folder not in OPEN_FOLDERS:
            found.setdefault(folder, []).append(path.stem)
    return found


def test_no_folder_contains_too_many_files() -> None:
    assert {
        f: len(stems) for f, stems in stems_by_folder().items() if len(stems) > FOLDER_FILES
    } == {}


def test_no_two_files_of_a_folder_share_a_prefix() -> None:
    shared = {}
    for folder, stems in stems_by_folder().items():
        heads = Counter(stem.split("_")[0] for stem in stems)
        twins = [stem for stem in stems if heads[stem.split("_")[0]] > 1]
        shared |= {folder: twins} if twins else {}
    assert shared == {}


def test_no_module_imports_too_many_modules_of_this_project() -> None:
    wide = {
        name: len(imported(path) - {name})
        for name, path in modules().items()
        if name not in COMPOSITION_ROOTS and len(imported(path) - {name}) > IMPORTS
    }
    assert wide == {}


def test_no_module_imports_a_private_name_of_another() -> None:
    private = [
        f"{name_of(path)}:{node.lineno} {alias.name}"
        for path in sources()
        for node in nodes_of(path)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stretto")
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    ]
    assert private == []


def test_class_names_are_unique() -> None:
    places: dict[str, list[str]] = {}
    for path in sources():
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(f"{name_of(path)}:{node.lineno}")
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


@cache
def modules() -> dict[str, Path]:
    return {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sources()
    }


@cache
def imported(path: Path) -> frozenset[str]:
    """Modules of this project that a file imports, also for types only or inside functions."""
    found = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in modules() else node.module)
    return frozenset(found & modules().keys())


def without_leaves(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    while leaves := {name for name, uses in graph.items() if not uses}:
        graph = {name: uses - leaves for name, uses in graph.items() if name not in leaves}
    return graph


def reversed_graph(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    return {name: {other for other, uses in graph.items() if name in uses} for name in graph}


def test_imports_have_no_cycle_even_for_types() -> None:
    graph = {name: set(imported(path) - {name}) for name, path in modules().items()}
    cycles = reversed_graph(without_leaves(reversed_graph(without_leaves(graph))))
    assert {name: sorted(uses) for name, uses in sorted(cycles.items())} == {}


def test_a_cycle_is_found() -> None:
    graph = {"top": {"a"}, "a": {"b"}, "b": {"a", "ground"}, "ground": set()}
    assert set(reversed_graph(without_leaves(reversed_graph(without_leaves(graph))))) == {"a", "b"}


# ---------------------------------------------------------------- plugins


def plugin_files() -> list[Path]:
    tables = {"__init__", "table", "registry"}
    return [p for p in sorted(PLUGINS.glob("*.py")) if p.stem not in tables]


def names_of_plugin(path: Path) -> set[str]:
    names = {path.stem, path.stem.replace("_", "-")}
    for node in tree_of(path).body:
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        value = getattr(node, "value", None)
        if any(isinstance(t, ast.Name) and t.id == "NAME" for t in targets):
            names |= {value.value} if isinstance(value, ast.Constant) else set()
    return names


def unmentioned(plugins: list[Path], texts: list[str]) -> list[str]:
    whole = "\n".join(texts)
    return [
        name_of(path)
        for path in plugins
        if not any(re.search(rf"(?<!\w){re.escape(n)}(?!\w)", whole) for n in names_of_plugin(path))
    ]


def test_every_plugin_has_a_test() -> None:
    tests = [p.read_text(encoding="utf-8") for p in (ROOT / "tests").rglob("test_*.py")]
    assert unmentioned(plugin_files(), tests) == []


def test_every_plugin_has_a_line_in_the_documentation() -> None:
    documents = [p.read_text(encoding="utf-8") for p in (ROOT / "docs").rglob("*.md")]
    assert unmentioned(plugin_files(), documents) == []


# ---------------------------------------------------------------- portability


def test_no_tracked_file_names_a_package_registry() -> None:
    named = [f"{n} names {h}" for n, t in tracked_texts().items() for h in REGISTRIES if h in t]
    assert named == []


def test_no_tracked_file_contains_a_path_of_one_machine() -> None:
    found = [
        f"{name}:{number} {line.strip()[:80]}"
        for name, text in tracked_texts().items()
        for number, line in enumerate(text.splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]
    assert found == []


def test_no_tracked_file_is_large() -> None:
    large = {name: len(text) for name, text in tracked_texts().items() if len(text) > 500_000}
    assert large == {}


# ---------------------------------------------------------------- lock, make, generated documents


RUN = ("kernels", "reports", "kube", "web", "mesos", "federation", "agent")
"""The extras of the complete product."""
LOCKS = {
    "requirements.lock": (*RUN, "build"),
    "requirements-dev.lock": (*RUN, "build", "docs", "dev"),
    "requirements-browser.lock": ("browser",),
    "requirements-fuzz.lock": ("fuzz",),
}
"""Each lock file, and the extras that it holds."""


def pins_of(lock: str) -> set[tuple[str, str]]:
    text = (ROOT / lock).read_text(encoding="utf-8")
    return set(re.findall(r"^([\w.-]+)==([\w.]+)", text, re.MULTILINE))


def wanted_by(lock: str) -> list[Requirement]:
    """Requirements of the project and of the laboratory, without their own packages."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lab = tomllib.loads((ROOT / "lab" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requested = [*project["dependencies"]]
    requested += chain.from_iterable(project["optional-dependencies"][name] for name in LOCKS[lock])
    requested += lab["dependencies"] if "dev" in LOCKS[lock] else []
    return [each for each in map(Requirement, requested) if not each.name.startswith("stretto")]


@pytest.mark.parametrize("lock", LOCKS)
def test_the_lock_fits_the_project(lock: str) -> None:
    pins = pins_of(lock)
    unmet = [
        str(r)
        for r in wanted_by(lock)
        if not any(n == r.name.lower() and v in r.specifier for n, v in pins)
    ]
    assert unmet == [], "run `make lock`"


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_has_a_hash_and_no_address(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    blocks = re.split(r"\n(?=\S)", text.strip())
    assert [b.splitlines()[0] for b in blocks if "--hash=sha256:" not in b or "://" in b] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_no_lock_contains_packages_of_this_repository(lock: str) -> None:
    assert [name for name, _ in pins_of(lock) if name.startswith("stretto")] == []


def test_development_runs_the_versions_of_a_run() -> None:
    assert pins_of("requirements.lock") <= pins_of("requirements-dev.lock")


def test_every_extra_is_in_a_lock_file_or_in_this_repository() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    locked = set(chain.from_iterable(LOCKS.values()))
    assert set(project["optional-dependencies"]) - locked == {"all", "lab"}


def test_every_make_target_has_a_description() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^\.PHONY: (\S+)", text, re.MULTILINE)
    assert [t for t in targets if not re.search(rf"^{t}:.* ## \w", text, re.MULTILINE)] == []


def test_the_lifecycle_document_is_drawn_from_the_tables() -> None:
    if importlib.util.find_spec("stretto.state.rows.lifecycle") is None:
        pytest.skip("there is no lifecycle table yet")
    checked = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "diagrams.py"), "--check"],
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stderr
