"""Generated messages and stubs of the public contract, protos/mooring/v1."""
