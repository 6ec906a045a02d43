"""The dashboard in a real browser, on a real service. A package, so that the browser closes after its last test."""
