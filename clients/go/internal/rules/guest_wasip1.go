package main

import "mooring.dev/go/mooring/pluginhost"

func init() {
	pluginhost.Guest("1", plugins()...)
}

func main() {}
