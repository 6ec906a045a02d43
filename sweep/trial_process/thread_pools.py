"""The thread pools of torch in a trial: within an operation, and between operations; trial process."""

from __future__ import annotations

import contextlib
import sys


def set_thread_pools(threads: int) -> None:
    """Give both pools of torch this number of threads, before user code runs.

    torch allows the pool between operations to be set once per process. A later call of user code would raise;
    instead, it prints that it has no effect.
    """
    import torch  # already imported by the fork server: this only binds the name

    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
    with contextlib.suppress(RuntimeError):  # a package of `program.preload` has set it
        torch.set_num_interop_threads(threads)

    def set_num_interop_threads(nthreads: int) -> None:
        current = torch.get_num_interop_threads()
        if nthreads != current:
            said = f"torch.set_num_interop_threads({nthreads}) has no effect: resources.threads has set {current}"
            print(f"podium: {said}", file=sys.stderr, flush=True)

    torch.set_num_interop_threads = set_num_interop_threads
