"""What the application knows and does, without Qt."""
