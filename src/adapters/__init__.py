"""One folder per technology; adapters translate, decide nothing and never import each other."""
