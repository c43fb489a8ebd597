"""The checks of a host of plugins: mooring's calls are made, and the contract judges the answers."""
