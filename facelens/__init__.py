"""FaceLens: look inside face embeddings."""

__version__ = "0.1.0"
