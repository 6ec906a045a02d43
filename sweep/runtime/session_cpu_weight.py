"""The CPU weight of a session among the sessions of the machine; the processes of attempts, Linux."""

from __future__ import annotations

import errno
import os


def lower_priority_of_session(niceness: int) -> bool:
    """Give the session of this process the weight of this niceness, where the kernel groups processes by session.

    With such groups (sched(7), "The autogroup feature"), niceness compares the processes of one session only, and each
    session has the same weight. Returns whether there is nothing left to do: without privileges, the kernel accepts one
    change in 0.1 s on the whole machine.
    """
    try:
        descriptor = os.open("/proc/self/autogroup", os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return True  # there are no groups
    try:
        os.write(descriptor, b"%d" % niceness)
    except OSError as error:
        return error.errno != errno.EAGAIN
    finally:
        os.close(descriptor)
    return True
