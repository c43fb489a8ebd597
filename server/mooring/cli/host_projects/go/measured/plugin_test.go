package main

import (
	"maps"
	"testing"
)

func TestEachLineIsTheLoadOfANode(t *testing.T) {
	if found := parsed("n1 4000\nn2 1000\n"); !maps.Equal(found, map[string]int64{"n1": 4000, "n2": 1000}) {
		t.Error(found)
	}
}
