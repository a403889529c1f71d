"""Retrieval: by words, by meaning, and the rendering of what was found."""
