"""The claims of a pod: read before the search, allocated, reserved and given back after it."""
