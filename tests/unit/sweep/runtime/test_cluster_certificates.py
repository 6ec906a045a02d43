"""Certificates of a cluster: made once, and again for Ray when the head has another address."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from cryptography import x509

from podium.sweep.runtime import cluster_certificates
from podium.sweep.runtime.layout import DataDirectory


@pytest.fixture
def data(tmp_path: Path) -> DataDirectory:
    return DataDirectory(tmp_path)


def test_certificate_of_the_port_is_made_once(data: DataDirectory) -> None:
    made = []
    for address in ("10.0.0.5", "10.0.0.6"):
        cluster_certificates.ensure(data.cluster_certificate, data.cluster_key, address)
        made.append(data.cluster_certificate.read_bytes())
    assert made[0] == made[1], "tokens name its fingerprint"
    assert data.cluster_key.stat().st_mode & 0o777 == 0o600
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(data.cluster_certificate, data.cluster_key)


def test_ray_gets_another_certificate_when_the_head_moves(data: DataDirectory) -> None:
    found = []
    for address in ("10.0.0.5", "10.0.0.5", "10.0.0.6"):
        cluster_certificates.ensure_ray(data, address)
        found.append((data.ray_tls.certificate.read_bytes(), data.ray_tls.authority.read_bytes()))
    assert found[0] == found[1]
    assert found[1][0] != found[2][0] and found[1][1] == found[2][1], "nodes keep trusting it"


def test_certificates_of_nodes_are_signed_by_the_authority(data: DataDirectory) -> None:
    cluster_certificates.ensure_ray(data, "10.0.0.5")
    issued = cluster_certificates.issue(data, "10.0.0.6")
    authority = x509.load_pem_x509_certificate(issued["authority"].encode())
    x509.load_pem_x509_certificate(issued["certificate"].encode()).verify_directly_issued_by(authority)
    assert "PRIVATE KEY" in issued["key"] and data.ray_authority_key.stat().st_mode & 0o777 == 0o600
