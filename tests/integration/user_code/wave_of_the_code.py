"""A module of the user's own, imported by `slow_to_import`; never suggested for preloading."""

import time

time.sleep(0.1)
VALUE = 1.0
