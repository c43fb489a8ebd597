//go:build v1_33 || v1_34 || v1_35 || v1_36

package main

import "errors"

// groupDecided is nothing: these releases decide groups in other ways, or not at all.
type groupDecided struct{}

func runGroups(*scenario) ([]*groupDecided, error) {
	return nil, errors.New("groups are asked about since 1.37")
}
