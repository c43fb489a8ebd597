//go:build v1_34 || v1_35 || v1_36

package main

import "errors"

// groupDecided is nothing: these releases have none.
type groupDecided struct{}

func runGroups(*scenario) ([]*groupDecided, error) {
	return nil, errors.New("groups are asked about since 1.37")
}
