"""Makes the certificates of a cluster: of the port for nodes, and of Ray with `--ray-tls`; serve, nodes process.

The certificate of the port for nodes signs itself: its fingerprint is in the tokens of nodes. Ray compares no
fingerprints, so its certificates are signed by an authority of this service, which issues one to each node that joins.
"""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from podium.sweep.runtime.atomic_files import write_atomic
from podium.sweep.runtime.layout import DataDirectory

VALID_DAYS = 3650  # nodes compare the fingerprint, so that a new one would require new tokens


def ensure(certificate: Path, key_file: Path, address: str) -> None:
    """Create a self-signed certificate of an IP address, and its key, unless they exist. Raises `OSError`."""
    if certificate.exists() and key_file.exists():
        return
    key = ec.generate_private_key(ec.SECP256R1())
    _write(key, _signed(_named("podium"), key, key, [address]), certificate, key_file)


def ensure_ray(data: DataDirectory, address: str) -> None:
    """Create the authority, and Ray's certificate of the head, unless they exist for this address. Raises `OSError`."""
    tls = data.ray_tls
    if not (tls.authority.exists() and data.ray_authority_key.exists()):
        key = ec.generate_private_key(ec.SECP256R1())
        _write(
            key, _signed(_named("podium-ray"), key, key, [], is_authority=True), tls.authority, data.ray_authority_key
        )
        tls.certificate.unlink(missing_ok=True)
    if not (tls.key.exists() and _has_address(tls.certificate, address)):
        issued = issue(data, address)
        write_atomic(tls.key, issued["key"].encode(), mode=0o600)
        write_atomic(tls.certificate, issued["certificate"].encode())


def issue(data: DataDirectory, address: str) -> dict[str, str]:
    """Certificate and key for Ray on the machine with this address, and the certificate of the authority, as PEM."""
    authority = x509.load_pem_x509_certificate(data.ray_tls.authority.read_bytes())
    signing = serialization.load_pem_private_key(data.ray_authority_key.read_bytes(), password=None)
    assert isinstance(signing, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _signed(authority.subject, key, signing, [address, "127.0.0.1"])
    return {
        "certificate": _pem(certificate),
        "key": _private_pem(key).decode(),
        "authority": _pem(authority),
    }


def _signed(
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signing: ec.EllipticCurvePrivateKey,
    addresses: list[str],
    *,
    is_authority: bool = False,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    subject = issuer if signing is key else _named(addresses[0])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))  # clocks of nodes may be wrong
        .not_valid_after(now + datetime.timedelta(days=VALID_DAYS))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    if addresses:
        names = [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
        made = made.add_extension(x509.SubjectAlternativeName([*names, x509.DNSName("localhost")]), critical=False)
    return made.sign(signing, hashes.SHA256())


def _has_address(file: Path, address: str) -> bool:
    """Whether the file has a certificate of this address: the head may have moved."""
    if not file.exists():
        return False
    certificate = x509.load_pem_x509_certificate(file.read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return ipaddress.ip_address(address) in names.get_values_for_type(x509.IPAddress)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _write(key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate, to: Path, key_to: Path) -> None:
    write_atomic(key_to, _private_pem(key), mode=0o600)
    write_atomic(to, _pem(certificate).encode())


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
