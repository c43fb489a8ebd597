"""HelloWorldPlugin: prefers nodes whose network is quiet."""
