"""DefaultBinder: writes the binding."""
