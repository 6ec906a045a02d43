"""Requests that nobody would write, thousands of them, made from the API's own description."""
