"""The addresses a service may listen on: loopback, or any with TLS of its own or of a proxy; `podium serve`."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Sequence
from pathlib import Path

from podium.api.http.allowed_host_names import is_host_name
from podium.sweep.values.errors import ServiceError

ANYWHERE = ("0.0.0.0", "::")  # noqa: S104  # compared with, not bound


def check(host: str, cert: Path | None, key: Path | None, proxies: Sequence[str], names: Sequence[str]) -> None:
    """Raises `ServiceError` unless tokens can be sent safely to this address."""
    for name in names:
        if not is_host_name(name):
            raise ServiceError(f"--allowed-host {name}: write a host name, like podium.example.org, or name:port")
    for proxy in proxies:
        _check_network(proxy)
    _check_certificate(cert, key)
    if is_loopback(host):
        return
    if cert is None and not proxies:
        raise ServiceError(
            f"--host {host} is reachable from other machines, and tokens must not be sent unencrypted; give --tls-cert "
            "and --tls-key, or --behind-proxy with the address of a TLS proxy, or use 127.0.0.1"
        )
    if host in ANYWHERE and not names:
        raise ServiceError(
            f"--host {host}: give the host name that browsers use, like --allowed-host podium.example.org"
        )


def check_cluster(address: str) -> None:
    """Raises `ServiceError` unless `--cluster` is one address at which nodes reach this machine."""
    try:
        parsed = ipaddress.IPv4Address(address)
    except ValueError:
        raise ServiceError(f"--cluster {address}: write the IPv4 address of this machine, like 10.0.0.5") from None
    if parsed.is_unspecified or parsed.is_loopback:
        raise ServiceError(f"--cluster {address}: other machines cannot reach it; write one like 10.0.0.5")


def names_of(host: str, names: Sequence[str]) -> tuple[str, ...]:
    """The host names of the service in addition to loopback: `names`, and the address that it listens on."""
    if host in ANYWHERE or is_loopback(host):
        return tuple(names)
    return (*names, f"[{host}]" if ":" in host else host)


def is_loopback(host: str) -> bool:
    """Whether an address is reachable only from this machine. Raises `ServiceError` if it is not an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise ServiceError(
            f"--host {host}: write an IP address of this machine, like 127.0.0.1 or 192.168.1.5"
        ) from None


def _check_network(proxy: str) -> None:
    try:
        ipaddress.ip_network(proxy)
    except ValueError:
        raise ServiceError(
            f"--behind-proxy {proxy}: write the proxy's IP address, like 10.0.0.5, or its network, like 10.0.0.0/24"
        ) from None


def _check_certificate(cert: Path | None, key: Path | None) -> None:
    if cert is None and key is None:
        return
    if cert is None or key is None:
        raise ServiceError("--tls-cert and --tls-key must be given together: the certificate and its private key")
    for option, file in (("--tls-cert", cert), ("--tls-key", key)):
        try:
            file.read_bytes()
        except OSError as error:
            raise ServiceError(f"{option} {file}: {error.strerror}") from error
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password=lambda: "")
    except (OSError, ValueError) as error:
        raise ServiceError(
            f"--tls-cert {cert} and --tls-key {key} do not match, or are not PEM files without a password"
        ) from error
