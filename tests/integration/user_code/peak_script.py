"""A script whose memory is highest between two samples."""

import usage

usage.allocates_between_samples(None)
