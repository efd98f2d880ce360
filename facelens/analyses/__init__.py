"""Stage 3: arrays in, frozen results out."""
