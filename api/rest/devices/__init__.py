"""Devices over REST: state, drain, and the timeline with the reason of each idle gap.

Runs in the api process.

Modules:
    device_resource_usage_routes  What the trials on each device use over REST, for the timeline
    device_routes                 Devices over REST: list, drain, return
    idle_gap_reasons              Explains the gaps between a device's trials from its recorded states
    node_routes                   Nodes over REST: list, drain, return, remove
    short_interval_merging        Merges recorded states of a device that are too short to display, per bucket of time
    timeline_routes               The device timeline over REST: trials on each device, and the gaps between them with
                                  their reasons
"""
