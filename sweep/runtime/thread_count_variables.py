"""The environment variables that set the number of threads or worker processes of libraries; slot and trial process."""

from __future__ import annotations

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "GOTO_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
    # for `n_jobs=-1` of joblib and scikit-learn: with 1, no worker process is started
    "LOKY_MAX_CPU_COUNT",
)


def thread_count_variables(threads: int) -> dict[str, str]:
    """Each of `THREAD_VARIABLES` set to the number of threads of a trial."""
    return dict.fromkeys(THREAD_VARIABLES, str(threads))
