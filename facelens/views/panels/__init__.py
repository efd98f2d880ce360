"""One file per panel of the stage."""
