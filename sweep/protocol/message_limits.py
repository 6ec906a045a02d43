"""Limits of the messages between scheduler, slot and trial process, used by both ends; scheduler, slot, trial process.

The limits of user attributes and constraints are enforced by `podium.sweep.values.constraints_and_user_attributes`,
those of an outcome's message and traceback by `podium.sweep.slots.outcome_classification`, for both ends.
"""

from __future__ import annotations

# One message of a trial process.
MAX_LINE_BYTES = 1 << 20
MAX_STEP = 2**63 - 1
MAX_METRICS = 1000  # of one trial
MAX_NAME = 200  # characters of the name of a metric, parameter or module
MAX_PARAMS = 1000  # of one trial
MAX_IMPORTS = 10  # modules whose import times a trial process reports

# Buffers of a slot for a reader that does not read.
MAX_EVENTS = 10_000  # not acknowledged by the scheduler; at this number the trial process blocks
MAX_EVENT_BYTES = 8 << 20  # of these events
MAX_EVENTS_PER_CALL = 2_000
MAX_EVENT_BYTES_PER_CALL = 2 << 20
MAX_UNSENT_ANSWERS = 100  # to a trial process that does not read them; later ones are dropped

# One packet between slot and fork server.
MAX_PACKET_BYTES = 64 << 10
