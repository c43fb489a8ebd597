// Lets linkname.go declare functions without bodies.
