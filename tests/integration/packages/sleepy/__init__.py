"""A package whose module takes half a second to import."""
