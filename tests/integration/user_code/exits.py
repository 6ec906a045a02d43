"""A module that is a script: it ends the process when it is imported."""

import sys

sys.exit(2)
