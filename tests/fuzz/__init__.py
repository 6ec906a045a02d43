"""Thousands of fuzzed requests, generated from the OpenAPI document."""
