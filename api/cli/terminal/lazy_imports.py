"""Lazy imports of commands: `lazy_imports.Client` loads the HTTP client on first use; CLI.

The modules of the commands hold their options and import nothing heavy, so that `--help` of every command is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podium.api.cli.terminal import ensemble_build_request as ensemble_build_request
    from podium.api.cli.terminal import ensemble_output as ensemble_output
    from podium.api.cli.terminal import ensemble_traffic_and_drift_output as ensemble_traffic_and_drift_output
    from podium.api.cli.terminal import row_input as row_input
    from podium.api.cli.terminal import shell_completion_request as shell_completion_request
    from podium.api.cli.terminal import sweep_output as sweep_output
    from podium.api.cli.terminal import sweep_progress as sweep_progress
    from podium.api.cli.terminal import terminal_output as terminal_output
    from podium.api.client import log_following as log_following
    from podium.api.client import multi_metric_curve_responses as multi_metric_curve_responses
    from podium.api.client import optuna_studies as optuna_studies
    from podium.api.client import service_for_command as service_for_command
    from podium.api.client import sweep_chain_submission as sweep_chain_submission
    from podium.api.client import sweep_export as sweep_export
    from podium.api.client import sweep_file_document as sweep_file_document
    from podium.api.client import sweep_file_lint as sweep_file_lint
    from podium.api.client.client import Client as Client
    from podium.api.client.client import serves as serves
    from podium.api.serve import node_join_process as node_join_process
    from podium.api.serve import startup as startup
    from podium.api.serve.service_lock import all_services_locked as all_services_locked
    from podium.api.serve.settings_from_options import settings_from as settings_from
    from podium.db.schema import database_binding as database_binding
    from podium.sweep.runtime import package_versions as package_versions
    from podium.sweep.runtime import service_settings as service_settings
    from podium.sweep.runtime.device_detection import local_devices as local_devices
    from podium.sweep.runtime.device_detection import sharing_remark as sharing_remark
    from podium.sweep.runtime.process_trees import die_with_parent as die_with_parent
    from podium.sweep.spec.json_schema import sweep_schema as sweep_schema
    from podium.sweep.spec.sweep_spec import parse_spec as parse_spec
    from podium.sweep.specfile import random_configurations as random_configurations
    from podium.sweep.specfile import spec_summary as spec_summary
    from podium.sweep.specfile.yaml_writer import to_yaml as to_yaml

_MODULES = {
    "shell_completion_request": "podium.api.cli.terminal",
    "demo_run": "podium.api.cli.terminal",
    "ensemble_traffic_and_drift_output": "podium.api.cli.terminal",
    "ensemble_output": "podium.api.cli.terminal",
    "ensemble_build_request": "podium.api.cli.terminal",
    "row_input": "podium.api.cli.terminal",
    "sweep_output": "podium.api.cli.terminal",
    "sweep_progress": "podium.api.cli.terminal",
    "terminal_output": "podium.api.cli.terminal",
    "sweep_chain_submission": "podium.api.client",
    "sweep_export": "podium.api.client",
    "multi_metric_curve_responses": "podium.api.client",
    "service_for_command": "podium.api.client",
    "log_following": "podium.api.client",
    "optuna_studies": "podium.api.client",
    "sweep_file_document": "podium.api.client",
    "sweep_file_lint": "podium.api.client",
    "database_subprocess": "podium.api.serve",
    "node_join_process": "podium.api.serve",
    "startup": "podium.api.serve",
    "database_binding": "podium.db.schema",
    "memory_mapped_datasets": "podium.sweep.data",
    "package_versions": "podium.sweep.runtime",
    "service_settings": "podium.sweep.runtime",
    "random_configurations": "podium.sweep.specfile",
    "spec_summary": "podium.sweep.specfile",
}
_NAMES = {
    "Client": "podium.api.client.client",
    "serves": "podium.api.client.client",
    "all_services_locked": "podium.api.serve.service_lock",
    "settings_from": "podium.api.serve.settings_from_options",
    "local_devices": "podium.sweep.runtime.device_detection",
    "sharing_remark": "podium.sweep.runtime.device_detection",
    "die_with_parent": "podium.sweep.runtime.process_trees",
    "sweep_schema": "podium.sweep.spec.json_schema",
    "parse_spec": "podium.sweep.spec.sweep_spec",
    "to_yaml": "podium.sweep.specfile.yaml_writer",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{_MODULES[name]}.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
