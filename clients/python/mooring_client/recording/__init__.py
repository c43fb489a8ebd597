"""The files of recordings."""
