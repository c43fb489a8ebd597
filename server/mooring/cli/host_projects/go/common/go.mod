module $distribution

go 1.26

require mooring.dev/go/mooring v0.1.0
