"""The SQL condition of the current attempts of trials; api and scheduler."""

from __future__ import annotations

from sqlalchemy import and_

from podium.db.schema.tables import attempts, trials

# Of attempts and trials: the attempt is the last one of the trial. Imported trials have none, nor have those that have
# not started.
CURRENT_ATTEMPT = and_(attempts.c.trial_id == trials.c.id, attempts.c.number == trials.c.attempt)
