//go:build !wasip1

// Command $distribution serves the plugin $name: $distribution unix:PATH
package main

import (
	"context"
	"log"
	"os"

	"mooring.dev/go/mooring/pluginhost"
)

func main() {
	log.Fatal(pluginhost.Serve(context.Background(), os.Args[1], version, plugin))
}
