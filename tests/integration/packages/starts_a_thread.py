"""A package that starts a thread when it is imported, which no fork has."""

from __future__ import annotations

import threading
import time

threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
