"""Traces of calls and attempts, for an OTLP collector; nothing of it happens unless it is asked for."""
