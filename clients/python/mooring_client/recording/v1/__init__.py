"""Generated stubs of mooring.recording.v1: the content of a recording's files."""
