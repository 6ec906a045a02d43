"""Devices over REST: state, drain, and the timeline with the reason of each idle gap.

Runs in the api process.
"""
