"""DynamicResources: devices that a pod claims must be on its node."""
