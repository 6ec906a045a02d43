"""Operating system services: files, paths, processes, clocks, resource usage, and the settings of a service.

Imported in every process.
"""
