"""What the hexagon offers and needs: Protocols whose docstrings are the contract."""
