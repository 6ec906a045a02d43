"""The operating system: files, paths, processes, clocks, resource usage, settings of a service.

Imported in every process.
"""
