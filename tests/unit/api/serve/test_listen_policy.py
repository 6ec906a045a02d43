"""Where a service may listen, and how it is protected there: its own TLS, a proxy, or loopback only."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import shutil
import socket
import ssl
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import httpx2
import pytest
from fastapi import FastAPI, Request

from podium.api.client.client import Client
from podium.api.http import readiness_reporting_server
from podium.api.rest.app import create_app
from podium.api.serve import listen_policy, login_link_request
from podium.sweep.runtime import certificate_pin
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import ServiceError
from tests.commands import Podium
from tests.service_rig import ServiceRig

Answer = TypeVar("Answer")
NAMES = ("podium.example.org",)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A self-signed certificate for the name of another machine, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not there to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=podium.example.org", "-days", "2", "-keyout", str(key), "-out", str(cert)]
    subprocess.run([*command, *names], check=True, capture_output=True)
    return cert, key


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.2"])
def test_loopback_needs_no_options(host: str) -> None:
    listen_policy.check(host, None, None, (), ())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "2001:db8::1", "10.0.0.1"])
def test_unencrypted_listening_is_refused_outside_loopback(host: str) -> None:
    with pytest.raises(ServiceError, match="must not be sent unencrypted"):
        listen_policy.check(host, None, None, (), NAMES)
    listen_policy.check(host, None, None, ("10.0.0.7",), NAMES)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_listening_on_all_addresses_needs_a_host_name(host: str) -> None:
    with pytest.raises(ServiceError, match="--allowed-host"):
        listen_policy.check(host, None, None, ("10.0.0.0/24",), ())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--host", "podium.example.org"), "write an IP address of this machine"),
        (("--host", ""), "write an IP address of this machine"),
        (("--host", "0.0.0.0"), "must not be sent unencrypted"),
        (("--behind-proxy", "nginx"), "write the proxy's IP address"),
        (("--behind-proxy", "*"), "write the proxy's IP address"),
        (("--allowed-host", "https://x"), "write a host name"),
        (("--tls-cert", "cert.pem"), "must be given together"),
        (("--tls-cert", "/none/cert.pem", "--tls-key", "/none/key.pem"), "No such file"),
        (("--tls-cert", __file__, "--tls-key", __file__), "do not match"),
    ],
)
def test_invalid_options_are_refused_before_the_start(podium: Podium, arguments: tuple[str, ...], words: str) -> None:
    code, _, said = podium("serve", *arguments)
    assert code == 2
    assert words in " ".join(said.replace("│", " ").split())


def test_certificate_with_the_key_of_another_is_refused(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    listen_policy.check("0.0.0.0", *certificate, (), NAMES)
    other = tmp_path / "key.pem"
    subprocess.run(["openssl", "genrsa", "-out", str(other), "2048"], check=True, capture_output=True)
    with pytest.raises(ServiceError, match="do not match"):
        listen_policy.check("0.0.0.0", certificate[0], other, (), NAMES)


@pytest.mark.parametrize(
    ("settings", "url", "public"),
    [
        ({}, "http://127.0.0.1:8300", "http://127.0.0.1:8300"),
        ({"allowed_hosts": NAMES}, "http://127.0.0.1:8300", "http://127.0.0.1:8300"),
        ({"proxies": ("10.0.0.7",), "allowed_hosts": NAMES}, "http://127.0.0.1:8300", "https://podium.example.org"),
        (
            {"host": "0.0.0.0", "tls_cert": "c", "allowed_hosts": NAMES},
            "https://127.0.0.1:8300",
            "https://podium.example.org:8300",
        ),
        (
            {"host": "::", "tls_cert": "c", "allowed_hosts": ("a.example:443",)},
            "https://[::1]:8300",
            "https://a.example:443",
        ),
        (
            {"host": "2001:db8::1", "tls_cert": "c", "allowed_hosts": ("[2001:db8::1]",)},
            "https://[2001:db8::1]:8300",
            "https://[2001:db8::1]:8300",
        ),
    ],
)
def test_local_and_public_urls(settings: dict[str, object], url: str, public: str, tmp_path: Path) -> None:
    made = ServiceSettings("data", str(tmp_path), **settings)  # type: ignore[arg-type]
    assert (made.url, made.public_url) == (url, public)
    assert ServiceSettings.load(made.save()) == made


def test_listen_address_is_an_allowed_host() -> None:
    assert listen_policy.names_of("192.168.1.5", NAMES) == ("podium.example.org", "192.168.1.5")
    assert listen_policy.names_of("2001:db8::1", ()) == ("[2001:db8::1]",)
    assert listen_policy.names_of("0.0.0.0", NAMES) == NAMES


# On real sockets.


def echo() -> FastAPI:
    """An application that describes its request."""
    app = FastAPI()

    @app.get("/came")
    @app.get("/api/v1/sweeps/1")
    def came(request: Request) -> dict[str, str | None]:
        return {"scheme": request.url.scheme, "from": None if request.client is None else request.client.host}

    @app.post("/api/v1/login-links", status_code=201)
    def link() -> dict[str, str]:
        return {"url": "the link"}

    return app


def served(
    settings: ServiceSettings,
    tcp: socket.socket,
    unix: socket.socket,
    ask: Callable[[], Answer],
    app: FastAPI | None = None,
) -> Answer:
    """The result of `ask` with a server on these sockets."""

    async def run() -> Answer:
        server = readiness_reporting_server.ReadyServer(readiness_reporting_server.config(app or echo(), settings))
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        await server.startup([tcp, unix])
        try:
            return await asyncio.to_thread(ask)
        finally:
            await server.shutdown([tcp, unix])

    return asyncio.run(run())


@pytest.fixture
def sockets(tmp_path: Path) -> tuple[socket.socket, socket.socket]:
    tcp = socket.create_server(("127.0.0.1", 0))
    unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    unix.bind(str(tmp_path / "u.sock"))
    unix.listen()
    return tcp, unix


def test_tls_is_used_on_the_port_and_not_on_the_unix_socket(
    certificate: tuple[Path, Path], sockets: tuple[socket.socket, socket.socket], tmp_path: Path
) -> None:
    port = sockets[0].getsockname()[1]
    cert, key = map(str, certificate)
    settings = ServiceSettings(str(tmp_path), str(tmp_path), port=port, tls_cert=cert, tls_key=key)
    (tmp_path / "admin.token").write_text("x")

    def ask() -> tuple[object, ...]:
        pem = certificate_pin.read_certificate(certificate[0])
        with Client(settings.url, "token", retry_s=0, certificate=pem) as trusting:
            came = trusting.sweep(1)
        with Client(settings.url, "token", retry_s=0) as default, pytest.raises(ServiceError, match="certificate"):
            default.sweep(1)
        with httpx2.Client(transport=httpx2.HTTPTransport(uds=sockets[1].getsockname())) as local:
            plain = local.get("http://gateway/came").json()
        return came, plain["scheme"], login_link_request.ask(settings)

    assert served(settings, *sockets, ask) == ({"scheme": "https", "from": "127.0.0.1"}, "http", "the link")


def test_nothing_is_sent_unencrypted_with_tls(
    certificate: tuple[Path, Path], sockets: tuple[socket.socket, socket.socket], service: ServiceRig
) -> None:
    """The whole application: no answer over http, a Secure cookie, and Strict-Transport-Security."""
    port = sockets[0].getsockname()[1]
    cert, key = map(str, certificate)
    settings = dataclasses.replace(service.settings, port=port, tls_cert=cert, tls_key=key, allowed_hosts=NAMES)

    def ask() -> tuple[object, ...]:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
            plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: podium.example.org\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                assert plain.recv(4096) == b""
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        with (
            socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
            pytest.raises(OSError, match=r"(?i)ssl"),
        ):
            old.wrap_socket(plain)
        trusting = certificate_pin.ssl_context(certificate_pin.read_certificate(certificate[0]))
        with httpx2.Client(base_url=f"https://127.0.0.1:{port}", verify=trusting) as client:
            named = {"Host": f"podium.example.org:{port}"}
            login = client.post("/api/v1/session", json={"token": "token-of-viewer"}, headers=named)
            refused = client.get("/api/v1/sweeps", headers=named)
            by_address = client.get("/healthz")
        cookie = login.headers["set-cookie"].lower()
        kept = [answer.headers.get("strict-transport-security") for answer in (login, refused, by_address)]
        return login.status_code, refused.status_code, "; secure" in cookie, "samesite=strict" in cookie, kept

    app = create_app(settings, service.database)
    stays = "max-age=31536000"
    assert served(settings, *sockets, ask, app) == (200, 200, True, True, [stays, stays, None])


def test_another_certificate_is_not_trusted(certificate: tuple[Path, Path]) -> None:
    context = certificate_pin.ssl_context(certificate_pin.read_certificate(certificate[0]))
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert len(context.get_ca_certs()) <= 1


@pytest.mark.parametrize(
    ("proxies", "came"),
    [
        ((), {"scheme": "http", "from": "127.0.0.1"}),
        (("10.0.0.7",), {"scheme": "http", "from": "127.0.0.1"}),
        (("127.0.0.0/8",), {"scheme": "https", "from": "203.0.113.9"}),
    ],
)
def test_only_a_configured_proxy_may_set_the_client_address(
    sockets: tuple[socket.socket, socket.socket], proxies: tuple[str, ...], came: dict[str, str]
) -> None:
    port = sockets[0].getsockname()[1]
    settings = ServiceSettings("data", "run", port=port, proxies=proxies)
    headers = {"X-Forwarded-For": "6.6.6.6, 203.0.113.9", "X-Forwarded-Proto": "https"}
    ask = functools.partial(httpx2.get, f"{settings.url}/came", headers=headers, trust_env=False)
    assert served(settings, *sockets, ask).json() == came
