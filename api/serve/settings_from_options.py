"""The settings of a service from the options of `podium serve`: checks them, and completes them; CLI."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

from podium.api.serve import listen_policy, notification_check, ports
from podium.api.serve.existing_cluster_options import existing_cluster
from podium.sweep.file_store import object_store_url
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.runtime.service_settings import DevicePlan, ServiceSettings
from podium.sweep.runtime.setting_cli_options import given_settings
from podium.sweep.values.errors import ServiceError


def settings_from(options: Mapping[str, Any]) -> ServiceSettings:
    """The settings of a service; `options` by their names. Raises `ServiceError` if they do not fit together."""
    names, proxies = options["allowed_host"] or (), options["behind_proxy"] or ()
    listen_policy.check(options["host"], options["tls_cert"], options["tls_key"], proxies=proxies, names=names)
    plan = DevicePlan.parse(options["devices"])
    _check_cluster(options)
    _check_files(options)
    data = DataDirectory(options["data_dir"].absolute(), socket.gethostname() if options["standby"] else "")
    completed = {
        "port": options["port"] or ports.free_port(),
        "gateway_port": options["gateway_port"] or ports.free_port(),
        "devices": plan,
        "artifact_url": object_store_url.normalized(options["artifact_url"]) if options["artifact_url"] else "",
        "existing_cluster": existing_cluster(options, plan),
        "allowed_hosts": listen_policy.names_of(options["host"], names),
    }
    return ServiceSettings(
        data_dir=str(data.root),
        runtime_dir=str(RuntimeDirectory.of(data).root),
        service=data.service,
        **given_settings(ServiceSettings, options) | completed,
    )


def _check_cluster(options: Mapping[str, Any]) -> None:
    if options["cluster"]:
        listen_policy.check_cluster(options["cluster"])
    if options["ray_tls"] and options["ray_address"]:
        raise ServiceError("--ray-tls: not with --ray-address; that cluster has settings of its own, RAY_USE_TLS")
    if options["ray_tls"] and not options["cluster"]:
        raise ServiceError("--ray-tls: give --cluster ADDRESS as well; on one machine Ray listens on loopback only")


def _check_files(options: Mapping[str, Any]) -> None:
    if options["artifact_credentials"] and not options["artifact_url"]:
        raise ServiceError("--artifact-credentials: give --artifact-url as well, the object store that they are for")
    if options["notify"] is not None:
        notification_check.check(options["notify"])
