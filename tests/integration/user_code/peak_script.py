"""A script whose memory is highest between two samples."""

from usage import allocates_between_samples  # type: ignore[import-not-found]

allocates_between_samples(None)
