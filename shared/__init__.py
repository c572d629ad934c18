"""What every deployable of Carillon shares: the rules (`domain`), the ports, and their adapters."""
