"""The commands of `podium`, one module per noun.

Runs in the CLI process.

Modules:
    backup                      `podium backup` and `podium restore`: a service with its files, in a folder or an object
                                store
    db                          `podium db backup|restore|check|upgrade|copy`: the database of a service, with or
                                without it running
    demo                        `podium demo`: a sweep, its best models and their ensemble on real data
    devices                     `podium devices ...`: the devices, their trials and members, and which accept no trials
    doctor                      `podium doctor`: checks the invariants of a data directory
    ensemble                    `podium ensemble ...`
    ensemble_traffic_and_drift  `podium ensemble traffic`, `events` and `drift`: what an ensemble has answered, and what
                                happened to it
    login                       `podium login`: a link that logs a browser in
    node                        `podium node ...`: other machines that have joined the service
    node_join                   `podium node join`: gives the devices of this machine to a service on another one, until
                                Ctrl-C
    notify                      `podium notify ...`
    schema                      `podium schema`: the sweep file as JSON Schema, for editors
    serve                       `podium serve`: runs the service until Ctrl-C or SIGTERM
    status                      `podium status`: the components of the service
    sweep                       `podium sweep ...`
    sweep_convert               `podium sweep convert`: a Ray Tune or Optuna search space as a sweep file
    sweep_curves                `podium sweep curves`: the curves of metrics as CSV, per trial or combined by group
    sweep_export                `podium sweep export`: the trials of a sweep as a table or for another tool
    sweep_import                `podium sweep import`: an Optuna study as a finished sweep
    sweep_metadata              `podium sweep rename`, `describe`, `tag`, `move`, `star` and `archive`: what users write
                                about sweeps
    sweep_validate              `podium sweep validate`: checks a sweep file and describes the sweep without starting it
    token                       `podium token create|list|revoke`: access tokens in addition to the data directory's
                                admin token
    trial                       `podium trial ...`
    trial_download              `podium trial download`: the files that a trial saved
"""
