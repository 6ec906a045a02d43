"""A package whose part takes half a second to import."""
