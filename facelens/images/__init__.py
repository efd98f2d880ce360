"""Stage 1: what is on disk."""
