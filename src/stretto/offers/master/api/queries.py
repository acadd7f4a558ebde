"""Calls of operators that only read."""

from collections.abc import Callable, Mapping
from typing import Final

import stretto
from stretto.offers.master.api import metrics
from stretto.offers.master.core import documents
from stretto.offers.master.core.operators import maintenance, quota
from stretto.offers.master.core.settings import VERSION
from stretto.offers.master.core.state import MasterState
from stretto.offers.messages.schema import Message

Query = Callable[[MasterState], Message]
"""Function that returns the body of an answer; empty if there is none."""


def version_info() -> Message:
    """The VersionInfo message."""
    return {
        "version": VERSION,
        "build_date": "1970-01-01 00:00:00",
        "build_time": 0.0,
        "build_user": "stretto",
        "git_sha": f"stretto-{stretto.__version__}",
        "git_tag": f"stretto-{stretto.__version__}",
    }


def _master(master: MasterState) -> Message:
    return {
        "master_info": master.master_info(),
        "start_time": master.started_at,
        "elected_time": master.started_at,
    }


def _flags(master: MasterState) -> Message:
    flags = sorted(master.settings.flags.items())
    return {"flags": [{"name": name, "value": value} for name, value in flags]}


def metrics_document(master: MasterState) -> dict[str, float]:
    """/metrics/snapshot."""
    return metrics.snapshot(master)


def _metrics(master: MasterState) -> Message:
    found = sorted(metrics.snapshot(master).items())
    return {"metrics": [{"name": name, "value": value} for name, value in found]}


def _weights(master: MasterState) -> Message:
    infos = [{"weight": weight, "role": role} for role, weight in reversed(master.weights.items())]
    return {"weight_infos": infos} if infos else {}


QUERIES: Final[Mapping[str, Query]] = {
    "GET_HEALTH": lambda _: {"healthy": True},
    "GET_FLAGS": _flags,
    "GET_VERSION": lambda _: {"version_info": version_info()},
    "GET_METRICS": _metrics,
    "GET_LOGGING_LEVEL": lambda master: {"level": master.logging_level},
    "GET_STATE": documents.state_document,
    "GET_AGENTS": documents.agents_document,
    "GET_FRAMEWORKS": documents.frameworks_document,
    "GET_EXECUTORS": documents.executors_document,
    "GET_OPERATIONS": lambda _: {},
    "GET_TASKS": documents.tasks_document,
    "GET_ROLES": documents.roles_document,
    "GET_WEIGHTS": _weights,
    "GET_MASTER": _master,
    "GET_QUOTA": lambda master: {"status": quota.quota_status(master)},
    "GET_MAINTENANCE_STATUS": lambda master: {"status": maintenance.status(master)},
    "GET_MAINTENANCE_SCHEDULE": lambda master: {"schedule": maintenance.schedule_message(master)},
}
"""Queries by type of the call."""
