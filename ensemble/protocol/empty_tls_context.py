"""The TLS context without certificates, for HTTP clients on a Unix socket; api and host processes."""

from __future__ import annotations

import ssl

# A Unix socket needs no TLS. Without this context, a client loads all certificate authorities: 25 to 100 ms.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
