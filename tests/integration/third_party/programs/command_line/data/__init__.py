"""The data of the example."""

from .blobs import load

__all__ = ["load"]
