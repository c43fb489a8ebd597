//go:build !wasip1

package main

import (
	"context"
	"log"
	"os"

	"mooring.dev/go/mooring/pluginhost"
)

func main() {
	log.Fatal(pluginhost.Serve(context.Background(), os.Args[1], "1", plugins()...))
}
