"""Traces of calls and attempts, for an OTLP collector; without a configuration nothing happens."""
