package main

import "mooring.dev/go/mooring/pluginhost"

func init() {
	pluginhost.Guest(version, plugin)
}

func main() {}
