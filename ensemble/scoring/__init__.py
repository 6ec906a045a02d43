"""Combination, calibration and evaluation of predictions, with numpy only.

Runs in the gateway, the workers, the ensemble host and the api process.
"""
