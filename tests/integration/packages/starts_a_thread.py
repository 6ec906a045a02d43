"""A package that starts a thread on import; forked processes do not have that thread."""

from __future__ import annotations

import threading
import time

threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
