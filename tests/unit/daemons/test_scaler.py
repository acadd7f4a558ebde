"""The controllers of a term of `stretto scaler`, over any store."""

import json
from concurrent.futures import Future
from typing import Any

import pytest
from click.testing import CliRunner

from stretto.api.wire.kinds import DEPLOYMENT, POD, SCALING_POLICY, TIDE_NODE_POOL, Kind
from stretto.base.clock import ManualClock
from stretto.base.errors import NotAllowedError
from stretto.base.rng import Rng
from stretto.cli.main import cli
from stretto.daemons.controllers.daemon import LeaderTools
from stretto.daemons.controllers.scaler import (
    ScalerConfig,
    ScalerControllers,
    ScalerPart,
    ScalerTerms,
)
from stretto.framework.profile.profile import load_profile
from stretto.plane.config import PlaneConfig
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import EVERYTHING, Listing, ListOptions, Store
from stretto.stores.wrapper import StoreWrapper

ALL = frozenset(ScalerPart)


class WithoutPods(StoreWrapper):
    """A server that does not allow to list pods."""

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        if kind == POD:
            raise NotAllowedError("list pods", "forbidden")
        return super().list(kind, selection)


@pytest.fixture
def store() -> MemoryStore:
    """A Deployment and a policy that scales it."""
    found = MemoryStore(ManualClock(), Rng(0))
    found.create(
        DEPLOYMENT, [body("web", {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}})]
    )
    group = {"name": "one", "max": 9, "targetRef": {"kind": "Deployment", "name": "web"}}
    found.create(SCALING_POLICY, [body("web", {"replicas": 3, "groups": [group]})])
    return found


def body(name: str, spec: dict[str, Any]) -> bytes:
    return json.dumps({"metadata": {"name": name}, "spec": spec}).encode()


def started(store: Store, parts: frozenset[ScalerPart] = ALL) -> ScalerControllers:
    config = ScalerConfig(parts, PlaneConfig(load_profile("default"), tier="numpy"))
    tools = LeaderTools(store, lambda: None, lambda: True, lambda _: Future())
    return ScalerTerms(config, ManualClock()).start(tools)


def test_a_term_divides_replicas_of_any_store(store: MemoryStore) -> None:
    term = started(store)
    term.loop.step()
    found = store.get(DEPLOYMENT, "default", "web")
    assert found is not None
    assert json.loads(found.body)["spec"]["replicas"] == 3
    assert term.synced() == {
        "scalingpolicies": 1,
        "tidenodepools": 0,
        "nodeovercommitconfigs": 0,
        "verticalpodautoscalers": 0,
    }


def test_a_process_of_tides_scales_nothing(store: MemoryStore) -> None:
    term = started(store, frozenset({ScalerPart.TIDES}))
    term.loop.step()
    assert term.synced() == {"tidenodepools": 0}
    found = store.get(DEPLOYMENT, "default", "web")
    assert found is not None
    assert json.loads(found.body)["spec"]["replicas"] == 0


def test_without_the_right_to_read_pods_nothing_is_decided(store: MemoryStore) -> None:
    with pytest.raises(NotAllowedError, match="pods"):
        started(WithoutPods(store))


def test_a_closed_term_decides_no_more(store: MemoryStore) -> None:
    term = started(store)
    term.close()
    store.create(TIDE_NODE_POOL, [body("t", {"nodeConfigs": {}})])
    term.loop.step()
    found = store.get(TIDE_NODE_POOL, "", "t")
    assert found is not None
    assert b"finalizer" not in found.body


def test_metrics_count_reconciliations(store: MemoryStore) -> None:
    term = started(store)
    term.loop.step()
    names = {each.name for each in term.families(0.0)}
    assert "stretto_scaler_reconciliations" in names


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--controller", "scalling"), "scaling"),
        (("--lease", "nowhere"), "NAMESPACE/NAME"),
        (("--tls-cert-file", "x.crt"), "--tls-private-key-file"),
        (("--profile", "nosuch"), "nosuch"),
    ],
)
def test_bad_options_exit_with_2_and_state_the_fix(words: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(cli, ["scaler", *words])
    assert done.exit_code == 2
    assert said in done.stderr
