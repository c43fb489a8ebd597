"""NodePorts: keeps pods off nodes where a host port they want is taken."""
