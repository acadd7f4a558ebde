"""Mesos' flags with their defaults, as GET_FLAGS, /flags and /state show them."""

import json
from collections.abc import Mapping
from typing import Final

DEFAULT_FLAGS: Final[Mapping[str, str]] = {
    "agent_ping_timeout": "15secs",
    "agent_reregister_timeout": "10mins",
    "allocation_interval": "1secs",
    "allocator": "hierarchical",
    "allocator_agent_recovery_factor": "0.8",
    "allocator_recovery_timeout": "10mins",
    "authenticate_agents": "false",
    "authenticate_frameworks": "false",
    "authenticate_http_frameworks": "false",
    "authenticate_http_readonly": "false",
    "authenticate_http_readwrite": "false",
    "authentication_v0_timeout": "15secs",
    "authenticators": "crammd5",
    "authorizers": "local",
    "filter_gpu_resources": "true",
    "framework_sorter": "drf",
    "help": "false",
    "hostname_lookup": "true",
    "http_authenticators": "basic",
    "initialize_driver_logging": "true",
    "log_auto_initialize": "true",
    "logbufsecs": "0",
    "logging_level": "INFO",
    "max_agent_ping_timeouts": "5",
    "max_completed_frameworks": "50",
    "max_completed_tasks_per_framework": "1000",
    "max_operator_event_stream_subscribers": "1000",
    "max_unreachable_tasks_per_framework": "1000",
    "memory_profiling": "false",
    "min_allocatable_resources": "cpus:0.01|mem:32",
    "offer_constraints_re2_max_mem": "4KB",
    "offer_constraints_re2_max_program_size": "100",
    "port": "5050",
    "publish_per_framework_metrics": "true",
    "quiet": "false",
    "recovery_agent_removal_limit": "100%",
    "registry": "replicated_log",
    "registry_fetch_timeout": "1mins",
    "registry_gc_interval": "15mins",
    "registry_max_agent_age": "2weeks",
    "registry_max_agent_count": "102400",
    "registry_store_timeout": "20secs",
    "registry_strict": "false",
    "require_agent_domain": "false",
    "role_sorter": "drf",
    "root_submissions": "true",
    "version": "false",
    "webui_dir": "",
    "work_dir": "",
    "zk_session_timeout": "10secs",
}
"""Flags of a master with Mesos' defaults."""


def master_flags(changed: Mapping[str, str], region: str = "", zone: str = "") -> dict[str, str]:
    """All flags: the defaults, the changed flags and the fault domain."""
    domain = {"fault_domain": {"region": {"name": region}, "zone": {"name": zone}}}
    placed = {"domain": json.dumps(domain, separators=(",", ":"))} if region else {}
    return {**DEFAULT_FLAGS, **placed, **changed}
