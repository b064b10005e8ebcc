"""Real servers as processes of this machine, no container and no installation needed."""
