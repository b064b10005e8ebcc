"""The rules: frozen values and pure functions over the standard library alone."""
