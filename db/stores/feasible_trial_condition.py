"""The SQL condition of trials that violate no constraint; api and scheduler."""

from __future__ import annotations

from sqlalchemy import exists

from podium.db.schema.tables import trial_constraints, trials

# Of trials: no constraint is violated. Such a trial alone can be the best.
FEASIBLE = ~exists().where(trial_constraints.c.trial_id == trials.c.id, trial_constraints.c.value > 0)
