"""Tools for assistants that read a running mooring over the Model Context Protocol. None of them writes."""
