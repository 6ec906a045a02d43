"""HTTP over a Unix socket; api and host."""

from __future__ import annotations

import ssl

# A Unix socket needs no TLS; for a client that is not told so, all certificate authorities are read: 25 to 100 ms.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
