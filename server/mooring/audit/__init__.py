"""The audit trail: events about changes, denials and reads, the log that takes them, and its reader."""
