"""Answers from cached evaluations: decisions, batches and totals, when they are true, and their check."""
