"""Figures drawn from results with matplotlib; needs no Qt."""
