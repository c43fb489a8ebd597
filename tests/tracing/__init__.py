"""Traces as an OTLP collector gets them."""
