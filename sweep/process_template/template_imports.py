"""Imports what forked processes share, torch above all; process template.

A start waits for `import_first`. `import_rest` follows when attempts need it.
"""

from __future__ import annotations

import importlib
import logging
import sys

from podium.sweep.process_template import contiguous_arenas, free_memory_filling
from podium.sweep.runtime import code_page_release, forked_process_logging, huge_page_collapse
from podium.sweep.runtime.fork_without_hooks import count_threads
from podium.sweep.runtime.garbage_collection import without_collection

# The first optimizer of a process, and DistributedDataParallel, import it: a second of processor time. It imports
# packages that torch itself does not need, such as triton.
COMPILER = "torch._dynamo"
# What forked processes would otherwise import themselves, each once. What every trial uses comes before torch, so that
# it is close together in memory: a forked process copies page by page what it uses, even if it only counts references.
FORK_SERVER = "podium.sweep.trial_process.fork_server"
FIRST_IMPORTS = ("numpy.random", FORK_SERVER)
REHEARSAL = "podium.sweep.trial_process.attempt_rehearsal"
AFTER_TORCH = (
    "podium.sweep.training.fit",
    "podium.ensemble.worker.worker_process",
    "podium.sweep.slots.slot_process",
)
ARENAS = 56  # of 1 MiB, for the objects of the first imports
log = logging.getLogger("podium.template")


def import_first() -> None:
    """Do once what every forked process would do again: imports, and torch's initialization at its first operation.

    Before, the memory of the imported objects is mapped in one piece, see `contiguous_arenas`.

    Measured per trial: `numpy.random` 7 ms, the first torch operation 5 ms. A tensor of one number is below the size at
    which torch starts threads; this is checked, since a child would wait for them forever.

    Raises:
        RuntimeError: A library has started a thread, or uses a GPU.
    """
    try:
        contiguous_arenas.map_arenas(ARENAS)
    except (OSError, MemoryError) as error:
        log.info("cannot map the memory of the imports in one piece, so forks take longer: %s", error)
    with without_collection():
        for name in FIRST_IMPORTS:
            importlib.import_module(name)
        importlib.import_module(REHEARSAL)
        torch = importlib.import_module("torch")
        for name in AFTER_TORCH:
            importlib.import_module(name)
        torch.manual_seed(0)
        torch.zeros(1).add_(1)
        torch.set_num_threads(1)  # for trials with one thread, and all that they start
        forked_process_logging.set_level()
        rehearse_attempts()
    check_fork()
    _arrange_memory()


def import_rest() -> None:
    """Import torch's compiler, and collapse its memory into huge pages: 1.5 s of processor time, and 75 MB.

    Attempts with an optimizer need it; others and members do not.

    Raises:
        RuntimeError: As `import_first` does.
    """
    with without_collection():
        import_compiler()
        rehearse_attempts(again=True)
    check_fork()
    _arrange_memory()


def _arrange_memory() -> None:
    """Have forked processes share as much memory as possible, in page tables that are quick to copy."""
    # To replace a cached name would write to the reference count of the old one; empty entries avoid that.
    getattr(sys, "_clear_type_cache", lambda: None)()
    huge_page_collapse.collapse_memory()
    code_page_release.release_code_pages()
    try:
        free_memory_filling.fill_free_memory()
    except MemoryError as error:
        log.info("cannot take the free memory between objects, so forked processes copy more: %s", error)


def check_fork() -> None:
    """Check that this process can be forked. Raises `RuntimeError` if a thread or a CUDA context would be lost."""
    torch = importlib.import_module("torch")
    if (threads := count_threads()) > 1:
        raise RuntimeError(f"the process template has {threads} threads after its imports; fork() would lose them")
    if torch.cuda.is_initialized():
        raise RuntimeError("the process template has a CUDA context after its imports; a forked process cannot use it")


def import_compiler() -> None:
    """Import torch's compiler; if that fails, log why, since trials that do not use it can run."""
    try:
        importlib.import_module(COMPILER)
    except Exception as error:  # noqa: BLE001 - an import runs any code
        log.warning(
            "cannot import %s (%s: %s): trials with optimizers start about a second later, since each imports it "
            "again, and may fail there; the cause is a package that it imports, such as triton",
            COMPILER, type(error).__name__, error,
        )  # fmt: skip


def rehearse_attempts(*, again: bool = False) -> None:
    """Prepare the memory of trials; if that fails, log why once, since trials can run without it.

    `again`: after imports, which evict what the first rehearsal prepared.
    """
    try:
        importlib.import_module(REHEARSAL).rehearse()
    except Exception as error:  # noqa: BLE001 - a full disk, or a hook of the import system
        if again:
            return
        log.warning(
            "cannot rehearse attempts (%s: %s): each trial takes about a millisecond longer to start",
            type(error).__name__, error,
        )  # fmt: skip
