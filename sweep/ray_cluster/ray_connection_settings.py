"""How other processes reach this service's Ray: its address, its token, and their variables; every process of Ray's."""

from __future__ import annotations

import secrets
from pathlib import Path

from podium.sweep.runtime.atomic_files import write_atomic
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.ray_tls import RayTls
from podium.sweep.runtime.runtime_directory import RuntimeDirectory

KEEP_S = 600.0  # for which a node waits for a head that does not answer, while its attempts run
# Variables of a Ray cluster of the user: its token would replace this service's, and be in every process.
OTHER_RAY_VARIABLES = ("RAY_AUTH_TOKEN", "RAY_ADDRESS")


def environment(
    token: Path | None, *, cluster: bool = False, tls: RayTls | None = None, wait_s: float | None = None
) -> dict[str, str]:
    """Variables to connect to this service's Ray, and to keep the user's folder off the module search path.

    Args:
        token: The file of Ray's token; None if it has none.
        cluster: Whether other nodes join: then Ray listens on every interface.
        tls: With which Ray encrypts its connections; None: not at all.
        wait_s: How long the raylet of a node, and its slots, wait for a head that does not answer; None: Ray's default.
    """
    # Intended for Windows and macOS. With it, Ray listens on 127.0.0.1 only. Without, Ray replaces
    # --node-ip-address=127.0.0.1 by the machine's address, and listens on every interface.
    loopback = {} if cluster else {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    authentication = {"RAY_AUTH_MODE": "disabled"}
    if token is not None:
        authentication = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
    waiting = {} if wait_s is None else {"RAY_gcs_rpc_server_reconnect_timeout_s": f"{wait_s:.0f}"}
    return {
        **loopback,
        **waiting,
        **({} if tls is None else tls.environment()),
        **authentication,
        "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        # Ray's default is 15 for all workers. Members serve requests; the fork server sets the niceness of trials.
        "RAY_worker_niceness": "0",
        # Its only worker on a node is the relay of the slots: the kernel ends the process that uses the memory.
        "RAY_memory_monitor_refresh_ms": "0",
        "PYTHONSAFEPATH": "1",
    }


def address_file(runtime: RuntimeDirectory) -> Path:
    """The file to which Ray writes its address when it is ready."""
    return runtime.ray / "ray_current_cluster"


def address_of(runtime: RuntimeDirectory) -> str:
    """The address of Ray; "" until it is ready. Ray creates the file before it writes the address."""
    try:
        return address_file(runtime).read_text().strip()
    except FileNotFoundError:
        return ""


def ensure_token(data: DataDirectory) -> None:
    """Create Ray's token if there is none: mode 0600, never passed to a trial."""
    if not data.ray_token.exists():
        write_atomic(data.ray_token, secrets.token_hex(32).encode(), mode=0o600)
