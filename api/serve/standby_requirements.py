"""What services need to succeed each other, and the name with which a start of a service takes their lease; `serve`."""

from __future__ import annotations

import hashlib
import secrets
import socket

from podium.sweep.runtime.atomic_files import write_atomic
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import ServiceError


def check(settings: ServiceSettings) -> None:
    """Raises `ServiceError` if another service could not continue the work of this one."""
    if not settings.standby:
        return
    if not settings.database_url_file:
        raise ServiceError(
            "--standby: needs a PostgreSQL database, which both services reach (--database-url-file); SQLite is a file "
            "of one machine"
        )
    if settings.existing_cluster is None:
        raise ServiceError(
            "--standby: give --ray-address and --cluster as well; both services must reach the same Ray cluster, whose "
            "slots outlive each of them. A Ray of its own ends with its service"
        )


def holder(data: DataDirectory) -> str:
    """A name for this start; the part before the hyphen is the same for all starts with this folder on this machine.

    The caller has locked the folder. A copy of the folder on another machine gets another name. Raises `OSError`.
    """
    if not data.start_name.exists():
        write_atomic(data.start_name, secrets.token_hex(12).encode(), mode=0o600)
    about = f"{data.start_name.read_text()} {socket.gethostname()} {data.own.resolve()}"
    return f"{hashlib.sha256(about.encode()).hexdigest()[:16]}-{secrets.token_hex(6)}"
