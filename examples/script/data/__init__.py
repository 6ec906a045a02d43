from .digits import load
from .loader import batches

__all__ = ["batches", "load"]
