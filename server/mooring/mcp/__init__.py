"""What an assistant may ask a running mooring over the Model Context Protocol. Everything here only reads."""
