"""Programs as the users of other packages write them, run unchanged on one real service."""
