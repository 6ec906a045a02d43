"""Sweeps: from a sweep file to finished trials.

`spec` says what a sweep is, `search` asks Optuna, `scheduler` hands trials to slots, `slots` finds the slots on
Ray, `slot` and `forkserver` run one fresh process per attempt, `attempt` is what happens inside it, `recorder`
writes what came of it.
"""
