"""Limits of best-effort pods: what is set, when it is released, and what survives a kill."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.agent.enforcement.suppression import Processor
from stretto.agent.files import read_list
from stretto.agent.limits.enforcer import Enforced, EnforceMode, Enforcer
from stretto.agent.limits.files import LimitChange, LimitFiles, LimitKind
from stretto.agent.limits.plan import CpuLimit, LimitedPod, LimitRules, LimitState, plan_limits
from stretto.agent.report.pods import NodePod
from stretto.agent.report.reading import NodeReader
from stretto.agent.topology.gpus import RecordedGpus
from stretto.base.clock import ManualClock
from tests.support.machines import AMD, ARM, INTEL, MachineShape, write_files, write_machine

GIB = 1 << 30
TREE = "sys/fs/cgroup/kubepods.slice/kubepods-besteffort.slice"
BATCH, WEB = "aaaaaaaa-1111", "bbbbbbbb-2222"
POD = f"{TREE}/kubepods-besteffort-pod{BATCH.replace('-', '_')}.slice"
OTHER = f"sys/fs/cgroup/kubepods.slice/kubepods-pod{WEB.replace('-', '_')}.slice"
LIMITS = {"cpu.max": "max 100000", "cpuset.cpus": "", "memory.high": "max"}


class Machine:
    """A machine with one reclaimed pod and one other, whose use a test sets."""

    def __init__(self, root: Path, shape: MachineShape = INTEL) -> None:
        self.root = root
        self.clock = ManualClock()
        self.evicted: list[str] = []
        write_machine(root, shape)
        for cgroup in (TREE, POD, OTHER):
            write_files(root, {f"{cgroup}/{name}": text for name, text in LIMITS.items()})
        self.reader = NodeReader(root, RecordedGpus(), self.clock)
        self.pods = {BATCH: NodePod("d/batch", "reclaimed_cores"), WEB: NodePod("d/web")}
        self.ticks = 0.0
        self.use(0, 0)

    def use(self, web: float, batch: float, free_gib: int = 100, held: int = GIB) -> None:
        self.clock.advance(10)
        self.ticks += 10 * (web + batch)
        files: dict[str, object] = {
            "proc/stat": f"cpu {int(100 * self.ticks)} 0 0 9 0 0 0 0",
            "proc/meminfo": f"MemTotal: {128 << 20} kB\nMemAvailable: {free_gib << 20} kB",
        }
        for cgroup, cores in ((POD, batch), (OTHER, web)):
            path = self.root / cgroup / "cpu.stat"
            before = int(path.read_text().split()[1]) if path.exists() else 0
            files[f"{cgroup}/cpu.stat"] = f"usage_usec {before + int(1e7 * cores)}"
            files[f"{cgroup}/memory.current"] = held
        write_files(self.root, files)
        self.node = self.reader.read(self.pods)

    def step(self, enforcer: Enforcer) -> Enforced:
        return enforcer.step(self.node, self.reader.processors, self.evict)

    def evict(self, uid: str, reason: str) -> bool:
        self.evicted.append(uid)
        return True

    def read(self, cgroup: str, name: str) -> str:
        return (self.root / cgroup / name).read_text().strip()

    def is_free(self) -> bool:
        cgroups = (TREE, POD, OTHER)
        return all(self.read(c, n) == text for c in cgroups for n, text in LIMITS.items())


def enforcer(at: Machine, mode: EnforceMode = EnforceMode.ON, **rules: object) -> Enforcer:
    return Enforcer(at.root, mode, LimitRules(**rules), at.root / "run")  # type: ignore[arg-type]


def test_best_effort_pods_get_what_others_leave_below_the_threshold(tmp_path: Path) -> None:
    at = Machine(tmp_path)
    agent = enforcer(at)
    at.use(web=8, batch=4)
    at.step(agent)
    assert at.read(TREE, "cpu.max") == "240000 100000"  # 65 % of 16 less 8


@pytest.mark.parametrize("shape", [INTEL, AMD, ARM])
def test_cpus_of_the_tree_are_whole_cores_of_the_machine(
    tmp_path: Path, shape: MachineShape
) -> None:
    at = Machine(tmp_path, shape)
    agent = enforcer(at, cpu_limit=CpuLimit.CPUSET)
    at.use(web=6, batch=1)
    at.step(agent)
    chosen = read_list(at.read(TREE, "cpuset.cpus"))
    assert len(chosen) == -(-(len(at.reader.processors.cpus) * 65 // 10 - 60) // 10)


def test_cpus_that_the_kernel_shows_as_a_range_are_counted(tmp_path: Path) -> None:
    at = Machine(tmp_path)
    agent = enforcer(at, cpu_limit=CpuLimit.CPUSET)
    write_files(tmp_path, {f"{TREE}/cpuset.cpus": "0-9"})
    at.use(web=0, batch=1)
    at.step(agent)
    assert len(read_list(at.read(TREE, "cpuset.cpus"))) == 11  # 65 % of 16


def test_memory_above_the_threshold_throttles_reclaimed_pods_alone(tmp_path: Path) -> None:
    at = Machine(tmp_path)
    agent = enforcer(at)
    at.use(1, 1, free_gib=28, held=16 * GIB)
    at.step(agent)
    assert int(at.read(POD, "memory.high")) < 16 * GIB
    assert at.read(OTHER, "memory.high") == "max"
    at.use(1, 1, free_gib=100)
    at.step(agent)
    assert at.read(POD, "memory.high") == "max"


def test_memory_that_is_short_evicts_reclaimed_pods_and_no_other(tmp_path: Path) -> None:
    at = Machine(tmp_path)
    agent = enforcer(at)
    at.use(1, 1, free_gib=8, held=16 * GIB)
    assert at.step(agent).evicted == (BATCH,)
    assert at.evicted == [BATCH]


def test_a_pod_that_is_being_deleted_is_not_evicted_again(tmp_path: Path) -> None:
    at = Machine(tmp_path)
    agent = enforcer(at)
    at.pods[BATCH] = NodePod("d/batch", "reclaimed_cores", is_ending=True)
    at.use(1, 1, free_gib=8, held=16 * GIB)
    assert (at.step(agent).evicted, at.evicted) == ((), [])


def test_no_other_pod_is_evicted_while_one_that_holds_enough_is_deleted() -> None:
    pods = (LimitedPod("a", "be/a", 32 * GIB, is_ending=True), LimitedPod("b", "be/b", GIB))
    state = LimitState((), 128 * GIB, (0, 0, 0), 112 * GIB, pods, "be")
    assert plan_limits(state, LimitRules()).evicted == ()


def test_a_small_change_of_use_changes_no_limit_of_memory(tmp_path: Path) -> None:
    at = Machine(tmp_path)
    agent = enforcer(at)
    at.use(1, 1, free_gib=28, held=16 * GIB)
    at.step(agent)
    at.use(1, 1, free_gib=28, held=16 * GIB + 4096)
    assert LimitKind.MEMORY not in {each.kind for each in at.step(agent).changes}


def test_a_dry_run_reports_every_step_and_writes_nothing(tmp_path: Path) -> None:
    at = Machine(tmp_path)
    agent = enforcer(at, EnforceMode.DRY_RUN)
    at.use(8, 4, free_gib=8, held=16 * GIB)
    found = at.step(agent)
    assert {each.kind for each in found.changes} == {LimitKind.QUOTA, LimitKind.MEMORY}
    assert (found.evicted, at.evicted, at.is_free()) == ((BATCH,), [], True)


@pytest.mark.parametrize("mode", EnforceMode)
def test_an_agent_that_starts_after_a_kill_releases_what_was_limited(
    tmp_path: Path, mode: EnforceMode
) -> None:
    at = Machine(tmp_path)
    at.use(8, 4, free_gib=28, held=16 * GIB)
    at.step(enforcer(at))
    assert not at.is_free()
    enforcer(at, mode)
    assert at.is_free()


def test_a_step_without_a_measurement_releases_everything(tmp_path: Path) -> None:
    at = Machine(tmp_path)
    agent = enforcer(at)
    at.use(8, 4, free_gib=28, held=16 * GIB)
    at.step(agent)
    at.node = None
    at.step(agent)
    assert at.is_free()


def test_a_pod_that_is_no_longer_reclaimed_is_released(tmp_path: Path) -> None:
    at = Machine(tmp_path)
    agent = enforcer(at)
    at.use(1, 1, free_gib=28, held=16 * GIB)
    at.step(agent)
    at.pods[BATCH] = NodePod("d/batch", "shared_cores")
    at.use(1, 1, free_gib=28, held=16 * GIB)
    at.step(agent)
    assert at.read(POD, "memory.high") == "max"


def test_a_cgroup_that_vanishes_is_neither_created_nor_an_error(tmp_path: Path) -> None:
    at = Machine(tmp_path)
    agent = enforcer(at)
    at.use(1, 1, free_gib=28, held=16 * GIB)
    (tmp_path / POD / "memory.high").unlink()
    at.step(agent)
    assert not (tmp_path / POD / "memory.high").exists()
    assert all(cgroup != POD for cgroup, _ in LimitFiles(tmp_path, tmp_path / "run").held)


def test_the_kernel_kills_processes_of_reclaimed_pods_first(tmp_path: Path) -> None:
    at = Machine(tmp_path)
    write_files(tmp_path, {f"{POD}/c/cgroup.procs": "7\n8", "proc/7/oom_score_adj": "0"})
    agent = enforcer(at)
    at.use(1, 1)
    assert at.step(agent).oom_scores == 1
    assert at.read("proc/7", "oom_score_adj") == "1000"


def test_a_limit_that_cannot_be_rewritten_stays_in_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Machine(tmp_path)
    files = LimitFiles(tmp_path, tmp_path / "run")
    files.apply(LimitChange(TREE, LimitKind.QUOTA, "1000 100000", "test"))
    monkeypatch.setattr(LimitFiles, "_write", lambda *_: False)
    files.apply(LimitChange(TREE, LimitKind.QUOTA, "2000 100000", "test"))
    files.keep_only(set())
    assert LimitFiles(tmp_path, tmp_path / "run").held == ((TREE, LimitKind.QUOTA),)


def test_cpus_that_the_kernel_does_not_empty_become_those_of_the_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = {f"{Path(TREE).parent}/cpuset.cpus.effective": "0-15"}
    write_files(tmp_path, {f"{TREE}/cpuset.cpus": "", **everything})
    files, write = LimitFiles(tmp_path, tmp_path / "run"), LimitFiles._write
    files.apply(LimitChange(TREE, LimitKind.CPUS, "0-1", "test"))
    monkeypatch.setattr(LimitFiles, "_write", lambda *a: bool(a[-1]) and write(*a))
    assert (files.release_all(), files.held) == (1, ())
    assert (tmp_path / TREE / "cpuset.cpus").read_text() == "0-15\n"


def test_an_unreadable_record_counts_as_none(tmp_path: Path) -> None:
    write_files(tmp_path, {"run/limits.json": "{broken"})
    assert LimitFiles(tmp_path, tmp_path / "run").held == ()


def test_the_record_is_written_before_the_limit(tmp_path: Path) -> None:
    at = Machine(tmp_path)
    files = LimitFiles(tmp_path, tmp_path / "run")
    (tmp_path / TREE / "cpu.max").chmod(0o400)
    files.apply(LimitChange(TREE, LimitKind.QUOTA, "1000 100000", "test"))
    assert at.read(POD, "cpu.max") == "max 100000"
    assert isinstance(json.loads((tmp_path / "run/limits.json").read_text()), list)


def used_of(percent: int) -> int:
    """Bytes in use on a node of 128 GiB."""
    return -(-percent * 128 * GIB // 100)


@given(
    cores=st.lists(st.floats(0, 32), min_size=2, max_size=2),
    percent=st.integers(0, 200),
    pods=st.lists(st.integers(0, 64), max_size=4),
    limit=st.sampled_from(CpuLimit),
)
def test_no_plan_limits_or_evicts_a_pod_that_is_not_reclaimed(
    cores: list[float], percent: int, pods: list[int], limit: CpuLimit
) -> None:
    owned, batch = cores
    reclaimed = tuple(LimitedPod(str(i), f"be/{i}", size * GIB) for i, size in enumerate(pods))
    processors = tuple(Processor(i, i // 2, 0, 0) for i in range(16))
    use = (owned + batch, owned + batch, owned)
    state = LimitState(processors, 128 * GIB, use, used_of(percent), reclaimed, "be")
    plan = plan_limits(state, LimitRules(cpu_limit=limit))
    assert {each.cgroup for each in plan.changes} <= {"be", *(pod.cgroup for pod in reclaimed)}
    assert set(plan.evicted) <= {pod.uid for pod in reclaimed}


@given(
    percent=st.integers(71, 100),
    pods=st.lists(st.tuples(st.integers(1, 64), st.integers(0, 2)), min_size=1, max_size=4),
)
def test_every_reclaimed_pod_is_throttled_before_one_is_evicted(
    percent: int, pods: list[tuple[int, int]]
) -> None:
    reclaimed = tuple(LimitedPod(str(i), f"be/{i}", n * GIB, p) for i, (n, p) in enumerate(pods))
    state = LimitState((), 128 * GIB, (0.0, 0.0, 0.0), used_of(percent), reclaimed, "be")
    plan = plan_limits(state, LimitRules())
    throttled = {each.cgroup for each in plan.changes if each.value != "max"}
    assert throttled == {pod.cgroup for pod in reclaimed}
    assert bool(plan.evicted) == (percent >= 85)
    priorities = [reclaimed[int(uid)].priority for uid in plan.evicted]
    assert priorities == sorted(priorities)
