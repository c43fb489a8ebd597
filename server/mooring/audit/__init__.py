"""The audit trail: events about changes, refusals and reads, the log that takes them, and its reader."""
