"""See the package."""

import time

time.sleep(0.5)
VALUE = 1.0
