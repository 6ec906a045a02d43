"""The files with which the processes of Ray on one machine encrypt their connections; serve, node process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RayTls:
    """Certificate and key of this machine, and the certificate of the authority that has signed it (PEM files)."""

    certificate: Path
    key: Path
    authority: Path

    def environment(self) -> dict[str, str]:
        """The variables that every process of Ray needs."""
        return {
            "RAY_USE_TLS": "1",
            "RAY_TLS_SERVER_CERT": str(self.certificate),
            "RAY_TLS_SERVER_KEY": str(self.key),
            "RAY_TLS_CA_CERT": str(self.authority),
        }
