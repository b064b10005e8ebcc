"""Scale on paper: what fires cost (`stages`, `fit`), what that means (`model`), and fleets played through (`fleet`)."""
