"""Stage 2: from pictures to numbers; the home of torch."""
