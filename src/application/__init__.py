"""Use cases (verbs) and loops (agents): they join the domain's rules to the ports."""
