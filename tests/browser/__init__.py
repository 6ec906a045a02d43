"""The dashboard in a real browser, on a real service. A package, so that its browser ends with its last test."""
