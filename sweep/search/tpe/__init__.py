"""TPE over histories of any length: Optuna's algorithm, with densities that are updated instead of rebuilt.

Runs in the scheduler process.

Modules:
    categorical_kernels          Kernels of a Parzen estimator over one choice. Scheduler and search processes
    numeric_kernels              Kernels of a Parzen estimator over numeric parameters. Scheduler and search processes
    parzen_mixture               A Parzen estimator: a weighted mixture of the kernels of trials. Scheduler and search
                                 processes
    tpe_sampler                  The TPE sampler, which proposes the values of a trial. Scheduler and search processes
    trial_ranking_and_densities  The trials of a study as TPE sees them: ranking and densities. Scheduler and search
                                 processes
    truncated_normal             The truncated normal distribution, vectorized. Scheduler and search processes
"""
