"""The tables in SQLAlchemy Core; every process that opens the database."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy import Integer as FourByteInteger

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# Integers have 64 bits. SQLite calls them INTEGER, which an `id` must be to have the number of its row.
Integer = BigInteger().with_variant(FourByteInteger(), "sqlite")

PARAMETER_COLUMNS = 16  # parameters of a trial that have columns

# Times are seconds since the epoch, UTC. JSON is text.

# One row, written by a migration: what tells this service from others in the same Ray cluster.
service = Table(
    "service",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False),  # random
)

sweeps = Table(
    "sweeps",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False),
    Column("state", String, nullable=False, index=True),
    Column("reason", String, nullable=False, server_default=""),  # of the state
    Column("wait_reason", String),  # why it waits, from a closed list; NULL: it does not wait
    Column(
        "wait_message", Text, nullable=False, server_default=""
    ),  # the same for people, with the devices in question
    Column("spec", Text, nullable=False),
    Column("metric", String, nullable=False),
    Column("goal", String, nullable=False),
    Column("run_cap", Integer, nullable=False),  # as submitted or extended
    Column("terms", Text, nullable=False, server_default="{}"),  # JSON: budget and target, as submitted or extended
    Column("priority", Float, nullable=False, server_default="1"),
    Column("idempotency_key", String, unique=True),
    Column("created_at", Float, nullable=False),
    Column("started_at", Float),
    Column("ended_at", Float),
    Column("over_s", Float, nullable=False, server_default="0"),  # seconds between ends and resumptions
    Column("ensemble_error", Text),  # why the ensemble of its `ensemble:` block could not be built
    Column("versions", Text),  # JSON: versions of the main packages at submission
    Column("environment", ForeignKey("environments.sha256")),  # all packages at submission
    Column(
        "provenance", Text
    ),  # JSON: git commit and command of the client; see `podium.sweep.runtime.submission_provenance`
    Column("warm_start", Text),  # JSON: number of earlier trials used and dropped, with reasons
    Column("held", Boolean, nullable=False, server_default="0"),  # it waits for its predecessors
    Column("fixed", Text),  # JSON: the values that `fix_from` took; `spec` has them as constants
    Column("submitted_spec", Text),  # the spec with `fix_from`, if `spec` has its values since
    Column("description", Text, nullable=False, server_default=""),  # Markdown
    Column("project", Text, nullable=False, server_default="", index=True),  # "": none
    Column("owner", Text, nullable=False, server_default=""),  # name of the token that submitted it; "": unknown
    Column("archived_at", Float),  # NULL: in the list of sweeps
)

sweep_tags = Table(
    "sweep_tags",
    metadata,
    Column("sweep_id", ForeignKey("sweeps.id"), nullable=False),
    Column("tag", String, nullable=False),
    PrimaryKeyConstraint("sweep_id", "tag"),
    Index("ix_sweep_tags_tag", "tag"),
    sqlite_with_rowid=False,
)

# The sweeps that each user has starred. A user is the name of a token: it stays when the token is replaced.
sweep_stars = Table(
    "sweep_stars",
    metadata,
    Column("user", String, nullable=False),
    Column("sweep_id", ForeignKey("sweeps.id"), nullable=False),
    PrimaryKeyConstraint("user", "sweep_id"),
    sqlite_with_rowid=False,
)

# Named views of the page of a sweep, for all sweeps of a project, or of the service.
saved_views = Table(
    "saved_views",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("project", Text, nullable=False),  # "": for all sweeps
    Column("name", String, nullable=False),
    Column("tab", String, nullable=False),
    Column("query", Text, nullable=False),  # JSON: the state of the page in its URL: filter, sort, columns
    Column("owner", String, nullable=False),  # who saved it last
    Column("changed_at", Float, nullable=False),
    UniqueConstraint("project", "name"),
)

# The sweeps of `after` and `fix_from`: those that must finish before a sweep starts. Each is older than the sweep.
sweep_predecessors = Table(
    "sweep_predecessors",
    metadata,
    Column("sweep_id", ForeignKey("sweeps.id"), nullable=False),
    Column("predecessor_id", ForeignKey("sweeps.id"), nullable=False, index=True),
    PrimaryKeyConstraint("sweep_id", "predecessor_id"),
    sqlite_with_rowid=False,
)

# Lists of installed packages at the submission of sweeps, each list once.
environments = Table(
    "environments",
    metadata,
    Column("sha256", String, primary_key=True),
    Column("packages", Text, nullable=False),  # one per line
    Column("first_at", Float, nullable=False),
)

# The original text of sweep files; sweeps submitted as JSON have no row.
sweep_files = Table(
    "sweep_files",
    metadata,
    Column("sweep_id", ForeignKey("sweeps.id"), primary_key=True),
    Column("text", Text, nullable=False),
)

# The current warnings of sweeps; a warning that no longer holds is deleted.
sweep_warnings = Table(
    "sweep_warnings",
    metadata,
    Column("sweep_id", ForeignKey("sweeps.id"), nullable=False),
    Column("code", String, nullable=False),
    Column("message", Text, nullable=False),
    Column("at", Float, nullable=False),
    PrimaryKeyConstraint("sweep_id", "code"),
    sqlite_with_rowid=False,
)

trials = Table(
    "trials",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("sweep_id", ForeignKey("sweeps.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("state", String, nullable=False),
    Column("value", Float),
    Column("attempt", Integer, nullable=False, server_default="0"),  # the current attempt; 0 before the first
    Column("sampler", String, nullable=False),  # a method, a sampler class, or enqueue, clone, imported
    Column("fallback_reason", String),  # why the method did not propose it: see `FallbackReason`
    Column("fallback_error", Text),  # of the sampler that failed
    Column("proposed_for", Integer),  # number of the earlier trial that a late proposal was requested for
    Column("search_attributes", Text, nullable=False, server_default="{}"),  # JSON: state of sampler and pruner
    Column("requested", String),  # the pending request of a client: stop or retry
    Column("forgiven", Integer, nullable=False, server_default="0"),  # failures up to this attempt are not counted
    Column("created_at", Float, nullable=False),
    Column("started_at", Float),
    Column("ended_at", Float),
    # The values of the first parameters of the sweep file, see `podium.db.stores.parameter_columns`.
    *(
        Column(f"param_{position}_{kind}", type_)
        for position in range(PARAMETER_COLUMNS)
        for kind, type_ in (("number", Float), ("text", Text))
    ),
    UniqueConstraint("sweep_id", "number"),
    Index("ix_trials_sweep_id_state_value", "sweep_id", "state", "value"),
    Index("ix_trials_sweep_id_value_number", "sweep_id", "value", "number"),
    Index("ix_trials_running", "id", sqlite_where=text("state = 'running'")),
    Index("ix_trials_requested", "requested", sqlite_where=text("requested IS NOT NULL")),
)

# The number of trials of a sweep by state; rows may have a count of 0. Written only by triggers on `trials`: those of
# migration 0019 in SQLite, those of `postgres_functions.sql` in PostgreSQL. A later migration that recreates `trials`
# must create them again, and one that changes states must count again: PostgreSQL has no triggers before it ends.
trial_counts = Table(
    "trial_counts",
    metadata,
    Column("sweep_id", ForeignKey("sweeps.id"), nullable=False),
    Column("state", String, nullable=False),
    Column("count", Integer, nullable=False),
    PrimaryKeyConstraint("sweep_id", "state"),
    sqlite_with_rowid=False,
)
WRITTEN_BY_TRIGGERS = (trial_counts,)

# Configurations that clients add to a sweep; `trial_id` is set when the scheduler creates the trial.
enqueued = Table(
    "enqueued",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("sweep_id", ForeignKey("sweeps.id"), nullable=False),
    Column("params", Text, nullable=False),  # JSON
    Column("distributions", Text, nullable=False, server_default="{}"),  # JSON: of parameters not in the sweep file
    Column("cloned_from", ForeignKey("trials.id")),
    Column("idempotency_key", String, unique=True),
    Column("created_at", Float, nullable=False),
    Column("trial_id", ForeignKey("trials.id"), index=True),
    Index("ix_enqueued_waiting", "sweep_id", sqlite_where=text("trial_id IS NULL")),
)

trial_params = Table(
    "trial_params",
    metadata,
    Column("trial_id", ForeignKey("trials.id"), nullable=False),
    Column("name", String, nullable=False),
    Column("number", Float),  # for sorting and filtering; NULL for strings
    Column("value", Text, nullable=False),  # JSON, exact
    Column("distribution", Text),  # JSON: in the format of a sweep file, if it differs from the sweep's
    PrimaryKeyConstraint("trial_id", "name"),
    sqlite_with_rowid=False,
)

# Only for sweeps with several objectives, in order; the first is also the trial's `value`.
trial_values = Table(
    "trial_values",
    metadata,
    Column("trial_id", ForeignKey("trials.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("name", String, nullable=False),
    Column("value", Float, nullable=False),
    PrimaryKeyConstraint("trial_id", "position"),
    sqlite_with_rowid=False,
)

# Constraint values of ended trials; above 0: violated, and the trial is never the best.
trial_constraints = Table(
    "trial_constraints",
    metadata,
    Column("trial_id", ForeignKey("trials.id"), nullable=False),
    Column("name", String, nullable=False),
    Column("value", Float, nullable=False),
    PrimaryKeyConstraint("trial_id", "name"),
    sqlite_with_rowid=False,
)

trial_attrs = Table(
    "trial_attrs",
    metadata,
    Column("trial_id", ForeignKey("trials.id"), nullable=False),
    Column("name", String, nullable=False),
    Column("value", Text, nullable=False),  # JSON
    PrimaryKeyConstraint("trial_id", "name"),
    sqlite_with_rowid=False,
)

# Notes of users; a trial without a note has no row.
trial_notes = Table(
    "trial_notes",
    metadata,
    Column("trial_id", ForeignKey("trials.id"), primary_key=True),
    Column("note", Text, nullable=False),
    Column("changed_at", Float, nullable=False),
)

trial_tags = Table(
    "trial_tags",
    metadata,
    Column("trial_id", ForeignKey("trials.id"), nullable=False),
    Column("tag", String, nullable=False),
    PrimaryKeyConstraint("trial_id", "tag"),
    Index("ix_trial_tags_tag", "tag"),
    sqlite_with_rowid=False,
)

# The trials of earlier sweeps that a sweep's search starts from; all have ended, so they never change.
warm_trials = Table(
    "warm_trials",
    metadata,
    Column("sweep_id", ForeignKey("sweeps.id"), nullable=False),
    Column("trial_id", ForeignKey("trials.id"), nullable=False),
    PrimaryKeyConstraint("sweep_id", "trial_id"),
    sqlite_with_rowid=False,
)

attempts = Table(
    "attempts",
    metadata,
    Column("trial_id", ForeignKey("trials.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("device_id", String, nullable=False),
    Column("node", String, nullable=False, server_default=""),
    Column("pid", Integer),
    Column("visible_devices", String),
    Column("torch_device", String),
    Column("import_s", Float),  # time to load the program
    Column("started_at", Float, nullable=False),
    Column("ended_at", Float),
    Column("device_s", Float),  # seconds that it held its device
    Column("state", String),
    Column("cause", String),
    Column("message", Text),
    Column("traceback", Text),
    Column("log_tail", Text),
    Column("exit", String),
    Column("late_prune_answers", Integer, nullable=False, server_default="0"),
    Column("orphans_killed", Integer, nullable=False, server_default="0"),
    Column("nonce", String, nullable=False, server_default=""),  # of its folder; "": placed by an earlier version
    Column("devices", Float, nullable=False, server_default="1"),  # how many; `device_id` is that of rank 0
    Column("peak_memory_bytes", BigInteger),  # sum of the peaks of its ranks; NULL: not measured
    Column("peak_gpu_memory_bytes", BigInteger),
    Column("memory_limit_bytes", BigInteger),  # of each rank: `limits.memory_mb`, or that of its machine
    Column("gpu_memory_limit_bytes", BigInteger),
    PrimaryKeyConstraint("trial_id", "number"),
    Index("ix_attempts_device_id_started_at", "device_id", "started_at"),
    sqlite_with_rowid=False,
)

# Intervals of the trials of a population; several attempts belong to one if some are lost.
intervals = Table(
    "intervals",
    metadata,
    Column("trial_id", ForeignKey("trials.id"), nullable=False),
    Column("number", Integer, nullable=False),  # from 1; a trial that continues another one may skip numbers
    Column("params", Text, nullable=False),  # JSON
    Column("donor_id", ForeignKey("trials.id")),  # whose checkpoint it starts from; NULL: its own
    Column("donor_interval", Integer),
    Column("first_attempt", Integer, nullable=False),
    Column("started_at", Float, nullable=False),
    Column("attempt", Integer),  # which ended it, and has its checkpoint
    Column("step", Integer),  # at its end
    Column("value", Float),  # of the metric, at its end
    Column("ended_at", Float),
    Column("removed", Integer, nullable=False, server_default="0"),  # its checkpoint: 0 kept, 1 to be removed, 2 gone
    PrimaryKeyConstraint("trial_id", "number"),
    sqlite_with_rowid=False,
)

# The devices of attempts that have several, and how the rank on each ended; other attempts have no rows.
attempt_ranks = Table(
    "attempt_ranks",
    metadata,
    Column("trial_id", ForeignKey("trials.id"), nullable=False),
    Column("number", Integer, nullable=False),  # of the attempt
    Column("rank", Integer, nullable=False),
    Column("device_id", String, nullable=False),
    Column("node", String, nullable=False, server_default=""),
    Column("started_at", Float, nullable=False),  # of the attempt
    Column("ended_at", Float),
    Column("state", String),
    Column("cause", String),
    Column("message", Text),
    Column("exit", String),
    Column("pid", Integer),
    Column("peak_memory_bytes", BigInteger),
    Column("peak_gpu_memory_bytes", BigInteger),
    Column("event", Text),  # JSON: the end of the rank, for a scheduler that starts before the attempt has ended
    PrimaryKeyConstraint("trial_id", "number", "rank"),
    Index("ix_attempt_ranks_device_id_started_at", "device_id", "started_at"),
    sqlite_with_rowid=False,
)

# What the ranks of attempts used. Old rows are merged, see `podium.db.stores.attempt_usage`.
attempt_usage = Table(
    "attempt_usage",
    metadata,
    Column("trial_id", ForeignKey("trials.id"), nullable=False),
    Column("number", Integer, nullable=False),  # of the attempt
    Column("rank", Integer, nullable=False),
    Column("at", Float, nullable=False),  # the end of the time that the row is about
    Column("span_s", Float, nullable=False),
    Column("cpu_cores", Float, nullable=False),
    Column("memory_bytes", BigInteger, nullable=False),
    Column("read_bytes", BigInteger, nullable=False),
    Column("written_bytes", BigInteger, nullable=False),
    Column("gpu_percent", Float),
    Column("gpu_memory_bytes", BigInteger),
    PrimaryKeyConstraint("trial_id", "number", "rank", "at"),
    sqlite_with_rowid=False,
)

artifacts = Table(
    "artifacts",
    metadata,
    Column("trial_id", ForeignKey("trials.id"), nullable=False),
    Column("name", String, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("sha256", String, nullable=False),
    Column("size_bytes", Integer, nullable=False),
    PrimaryKeyConstraint("trial_id", "name"),
    sqlite_with_rowid=False,
)

# Files removed by the retention policy: the row is moved here first, then the file is deleted.
removed_artifacts = Table(
    "removed_artifacts",
    metadata,
    Column("trial_id", ForeignKey("trials.id"), nullable=False),
    Column("name", String, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("sha256", String, nullable=False),
    Column("size_bytes", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", Float, nullable=False),
    Column("gone", Boolean, nullable=False),  # the file is deleted
    PrimaryKeyConstraint("trial_id", "name"),
    Index("ix_removed_artifacts_leaving", "trial_id", sqlite_where=text("NOT gone")),
    sqlite_with_rowid=False,
)

# On PostgreSQL, the foreign key of their summaries holds for points as well: each point is stored together with its
# summary, and a check of every point took a quarter of the time of storing them.
metrics = Table(
    "metrics",
    metadata,
    Column("trial_id", Integer, nullable=False),
    Column("name", String, nullable=False),
    Column("step", Integer, nullable=False),
    Column("value", Float, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("at", Float, nullable=False),
    PrimaryKeyConstraint("trial_id", "name", "step"),
    ForeignKeyConstraint(["trial_id"], ["trials.id"]).ddl_if(dialect="sqlite"),
    sqlite_with_rowid=False,
)

# Points whose value is NaN or infinite: SQLite stores NaN as NULL.
non_finite_metrics = Table(
    "non_finite_metrics",
    metadata,
    Column("trial_id", ForeignKey("trials.id"), nullable=False),
    Column("name", String, nullable=False),
    Column("step", Integer, nullable=False),
    Column("value", String, nullable=False),  # nan, inf or -inf
    Column("attempt", Integer, nullable=False),
    Column("at", Float, nullable=False),
    PrimaryKeyConstraint("trial_id", "name", "step"),
    sqlite_with_rowid=False,
)

# What the points of a metric of a trial give, written with them: see `podium.db.stores.metric_summaries`.
metric_summaries = Table(
    "metric_summaries",
    metadata,
    Column("trial_id", ForeignKey("trials.id"), nullable=False),
    Column("name", String, nullable=False),
    Column("last_value", Float),  # NULL, as all values: there are only non-finite ones
    Column("last_step", Integer),
    Column("min_value", Float),
    Column("min_step", Integer),  # the first step with this value
    Column("max_value", Float),
    Column("max_step", Integer),
    Column("non_finite", Integer, nullable=False, server_default="0"),  # number of points
    Column("non_finite_step", Integer),  # of the first of them
    PrimaryKeyConstraint("trial_id", "name"),
    sqlite_with_rowid=False,
)

# The names of the metrics that trials of a sweep have logged.
sweep_metrics = Table(
    "sweep_metrics",
    metadata,
    Column("sweep_id", ForeignKey("sweeps.id"), nullable=False),
    Column("name", String, nullable=False),
    PrimaryKeyConstraint("sweep_id", "name"),
    sqlite_with_rowid=False,
)

# Parameter importances for one metric of a sweep, as last computed; a cache.
importances = Table(
    "importances",
    metadata,
    Column("sweep_id", ForeignKey("sweeps.id"), nullable=False),
    Column("metric", String, nullable=False),  # or duration_s
    Column("as_of", Integer, nullable=False),  # number of finished trials at that time
    Column("trials", Integer, nullable=False),  # number of trials evaluated
    Column("result", Text, nullable=False),  # JSON: see `podium.sweep.studies.parameter_importance`
    Column("at", Float, nullable=False),
    PrimaryKeyConstraint("sweep_id", "metric"),
    sqlite_with_rowid=False,
)

events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("kind", String, nullable=False),
    Column("sweep_id", Integer),
    Column("trial_id", Integer),
    Column("ensemble_id", Integer),
    Column("payload", Text, nullable=False, server_default="{}"),
    Index("ix_events_ensemble_id", "ensemble_id", sqlite_where=text("ensemble_id IS NOT NULL")),
    sqlite_autoincrement=True,  # ids are never reused, since clients resume by id
)

# Events that begin something in a sweep; the literal kinds of the partial index, without which SQLite would not use it.
STARTS = "kind IN ('trial.running', 'sweep.queued', 'sweep.running')"
Index("ix_events_starts", events.c.sweep_id, sqlite_where=text(STARTS))

# Notifications to the targets of `podium serve --notify`, each event and kind once per target.
notifications = Table(
    "notifications",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("event_id", ForeignKey("events.id"), nullable=False),
    Column("kind", String, nullable=False),
    Column("target", String, nullable=False),  # line and schema of the file: no secrets
    Column("title", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("state", String, nullable=False),  # waiting, sending, sent, failed, dropped, unknown
    Column("tries", Integer, nullable=False),
    Column("due_at", Float, nullable=False),
    Column("reason", Text, nullable=False, server_default=""),  # why it was not sent, without secrets
    Column("created_at", Float, nullable=False),
    Column("changed_at", Float, nullable=False),
    UniqueConstraint("event_id", "kind", "target"),
    Index("ix_notifications_target_state_due_at", "target", "state", "due_at"),
)

# One row: the last event that the notifier has looked at.
notification_cursor = Table(
    "notification_cursor",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("event_id", Integer, nullable=False),
)

devices = Table(
    "devices",
    metadata,
    Column("id", String, primary_key=True),
    Column("kind", String, nullable=False),
    Column("position", Integer, nullable=False),
    Column("node", String, nullable=False),
    Column("visible", String, nullable=False),
    Column("uuid", String),
    Column("slot_pid", Integer),
    Column("state", String, nullable=False),
    Column("reason", String, nullable=False, server_default=""),
    Column("changed_at", Float, nullable=False),
)

# The state of a device from `at` until its next row, with the reason if it runs no trial; for the timeline.
device_spells = Table(
    "device_spells",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("device_id", String, nullable=False),
    Column("at", Float, nullable=False),
    Column("state", String, nullable=False),
    Column("reason", Text, nullable=False),
    Index("ix_device_spells_device_id_at", "device_id", "at"),
)

# Drained devices: no trials until they are returned; persists across restarts.
devices_aside = Table(
    "devices_aside",
    metadata,
    Column("device_id", String, primary_key=True),
    Column("uuid", String, primary_key=True, server_default=""),  # of a GPU, which may get another id; "" without
    Column("reason", Text, nullable=False),
    Column("at", Float, nullable=False),
)

# Other machines that have joined the service, as their agents report them; the head has no row.
nodes = Table(
    "nodes",
    metadata,
    Column("name", String, primary_key=True),  # before the colon in the ids of its devices
    Column("address", String, nullable=False),
    Column("joined_at", Float, nullable=False),
    Column("reported_at", Float, nullable=False),  # by the clock of the head
    Column("podium_version", String, nullable=False),
    Column("python_version", String, nullable=False),
    Column("ray_version", String, nullable=False),
    Column("cores", Integer, nullable=False),
    Column("gpus", Integer, nullable=False),
    Column("memory_bytes", BigInteger, nullable=False),
    Column("disk_free_bytes", BigInteger, nullable=False),
    Column("cache_bytes", BigInteger, nullable=False),  # of code, data and checkpoints that it keeps
    Column("clock_offset_s", Float, nullable=False),  # its clock minus that of the head
    Column("uploads_waiting", Integer, nullable=False),  # attempts that run there, or whose end is not recorded
    Column("member_port", Integer, nullable=False, server_default="0"),  # of its agent, for members; 0: none
    Column("certificate", String, nullable=False, server_default=""),  # SHA-256 of the certificate of that port
    Column("left_folders", Text, nullable=False, server_default="[]"),  # JSON: keys, of attempts that are over
    Column("left_processes", Text, nullable=False, server_default="[]"),  # JSON: their processes
    Column("refused", Text, nullable=False, server_default=""),  # why the service does not use it, with no report then
    Column("leaving", Boolean, nullable=False, server_default="0"),  # the head has asked it to leave
    Column("leave_now", Boolean, nullable=False, server_default="0"),  # without waiting for its trials
)

# One row: the scheduler that may write. A scheduler takes the next epoch at start, and each of its transactions
# checks it, so that an old scheduler that was suspended cannot write.
scheduler_lease = Table(
    "scheduler_lease",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("epoch", Integer, nullable=False),
    Column("holder", String, nullable=False),
    Column("taken_at", Float, nullable=False),
    Column("seen_at", Float, nullable=False),  # last heartbeat
)

# The same for the ensemble host.
host_lease = Table(
    "host_lease",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("epoch", Integer, nullable=False),
    Column("holder", String, nullable=False),
    Column("taken_at", Float, nullable=False),
)

# One row: the service whose scheduler and host may write, on a database that several services use. Times are those of
# the database's clock.
leader_lease = Table(
    "leader_lease",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("epoch", Integer, nullable=False),
    Column("holder", String, nullable=False),  # random name of a start of `podium serve`
    Column("host", String, nullable=False),
    Column("url", String, nullable=False),
    Column("ray", String, nullable=False),  # id of its Ray cluster; "": a Ray of its own
    Column("taken_at", Float, nullable=False),
    Column("renewed_at", Float, nullable=False),
)

# The services that wait for the lease, and when they were seen last.
standbys = Table(
    "standbys",
    metadata,
    Column("holder", String, primary_key=True),
    Column("host", String, nullable=False),
    Column("url", String, nullable=False),
    Column("since", Float, nullable=False),
    Column("seen_at", Float, nullable=False),
)

ensembles = Table(
    "ensembles",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    Column("sweep_id", ForeignKey("sweeps.id")),  # if all members are of one sweep
    Column("requested_by", ForeignKey("sweeps.id"), unique=True),  # the sweep whose `ensemble:` block requested it
    Column("state", String, nullable=False, index=True),
    Column("reason", String, nullable=False, server_default=""),
    Column("version", Integer, nullable=False, server_default="1"),  # the active version
    Column("target", Integer),  # becomes active when ready
    Column("canary", Integer),  # answers a share of the requests
    Column("canary_share", Float, nullable=False, server_default="0"),
    Column("created_at", Float, nullable=False),
    Column("changed_at", Float, nullable=False),
)

ensemble_versions = Table(
    "ensemble_versions",
    metadata,
    Column("ensemble_id", ForeignKey("ensembles.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("mode", String, nullable=False),
    Column("quorum", Integer, nullable=False),
    Column("deadline_ms", Float, nullable=False),
    Column("placement", String, nullable=False),
    Column("precision", String, nullable=False),  # as requested; "mixed" if not the same for all members
    Column("combination", Text, nullable=False),  # JSON: the rule and its fitted parameters
    Column("selection", Text, nullable=False),  # JSON: how the members were selected
    Column("classes", Text, nullable=False),  # JSON: names of the outputs
    Column("features", Integer, nullable=False),
    Column("plan", Text, nullable=False, server_default="{}"),  # JSON: execution plan of the in-graph mode
    Column("created_at", Float, nullable=False),
    Column("max_loss_increase", Float, nullable=False, server_default="0.01"),
    Column("devices", Integer, nullable=False, server_default="1"),  # of each replica
    PrimaryKeyConstraint("ensemble_id", "number"),
    sqlite_with_rowid=False,
)

ensemble_members = Table(
    "ensemble_members",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("ensemble_id", ForeignKey("ensembles.id"), nullable=False),
    Column("version", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("trial_id", ForeignKey("trials.id"), nullable=False),
    Column("precision", String, nullable=False, server_default="float32"),  # as requested
    Column("measured_precision", Text),  # JSON: the precision that is used, and why; null: not measured yet, or float32
    UniqueConstraint("ensemble_id", "version", "position"),
)

replicas = Table(
    "replicas",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("member_id", ForeignKey("ensemble_members.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("state", String, nullable=False),
    Column("reason", String, nullable=False, server_default=""),
    Column("device_id", String, index=True),
    Column("node", String),
    Column("pid", Integer),
    Column("epoch", Integer, nullable=False, server_default="0"),
    Column("endpoint", String),
    Column("restarts", Integer, nullable=False, server_default="0"),
    Column("more_devices", Text, nullable=False, server_default="[]"),  # JSON: ids of those of the later stages
    UniqueConstraint("member_id", "number"),
)

evaluations = Table(
    "evaluations",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("ensemble_id", ForeignKey("ensembles.id"), nullable=False, index=True),
    Column("version", Integer, nullable=False),
    Column("split", String, nullable=False),
    Column("forced", Boolean, nullable=False, server_default="0"),
    Column("state", String, nullable=False, index=True),
    Column("reason", String, nullable=False, server_default=""),
    Column("result", Text),
    Column("created_at", Float, nullable=False),
    Column("ended_at", Float),
)

# Rows are only changed by revocation and never deleted: they are the record of who had access.
tokens = Table(
    "tokens",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False),
    Column("role", String, nullable=False),
    Column("digest", String, nullable=False, unique=True),
    Column("created_at", Float, nullable=False),
    Column("created_by", String, nullable=False, server_default=""),
    Column("expires_at", Float),
    Column("revoked_at", Float),
    Column("revoked_by", String, nullable=False, server_default=""),
)

# One-time codes of login links.
login_codes = Table(
    "login_codes",
    metadata,
    Column("digest", String, primary_key=True),
    Column("token_id", ForeignKey("tokens.id"), nullable=False),
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False),
    Column("used_at", Float),
)

# Browser sessions: each acts for a token while the token is valid.
sessions = Table(
    "sessions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("digest", String, nullable=False, unique=True),
    Column("token_id", ForeignKey("tokens.id"), nullable=False, index=True),
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False),
)
