"""One file per layout of a gallery; each returns a Reading: a FaceSet and, where there is one, a Protocol."""
