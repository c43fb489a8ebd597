// Command selectors answers what Kubernetes' own compiler makes of device selectors, and what they take.
//
// It reads one {"expression": ...} as JSON per line on stdin and writes one JSON line per expression, in the same order.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/cel"
)

// repeats is how often an expression is compiled and evaluated; the fastest time counts.
const repeats = 5

type question struct {
	Expression string `json:"expression"`
}

type answer struct {
	Expression string `json:"expression"`
	// Accepted says whether the API server stores it.
	Accepted bool   `json:"accepted"`
	Estimate uint64 `json:"estimate"`
	// Matches is null where the evaluation fails.
	Matches *bool  `json:"matches"`
	Cost    uint64 `json:"cost"`
	// Compiling and Evaluating are nanoseconds.
	Compiling  int64 `json:"compiling"`
	Evaluating int64 `json:"evaluating"`
}

func main() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var asked question
		if err := in.Decode(&asked); err == io.EOF {
			return
		} else if err != nil {
			fmt.Fprintln(os.Stderr, "selectors:", err)
			os.Exit(1)
		}
		if err := out.Encode(answerTo(asked.Expression)); err != nil {
			fmt.Fprintln(os.Stderr, "selectors:", err)
			os.Exit(1)
		}
	}
}

func answerTo(expression string) answer {
	found := answer{Expression: expression}
	compiler := cel.GetCompiler(cel.Features{})
	compiled, took := fastest(func() cel.CompilationResult {
		return compiler.CompileCELExpression(expression, cel.Options{})
	})
	found.Compiling = took
	found.Estimate = compiled.MaxCost
	found.Accepted = compiled.Error == nil && compiled.MaxCost <= resourceapi.CELSelectorExpressionMaxCost
	if compiled.Error != nil {
		return found
	}
	_, found.Evaluating = fastest(func() error {
		matches, details, err := compiled.DeviceMatches(context.Background(), device())
		if err == nil {
			found.Matches = &matches
		}
		if details != nil && details.ActualCost() != nil {
			found.Cost = *details.ActualCost()
		}
		return err
	})
	return found
}

// fastest does something several times; it returns the last result, and the fewest nanoseconds that it took.
func fastest[T any](do func() T) (result T, least int64) {
	for range repeats {
		began := time.Now()
		result = do()
		if took := time.Since(began).Nanoseconds(); least == 0 || took < least {
			least = took
		}
	}
	return result, least
}

// device is the one that the Python side evaluates with.
func device() cel.Device {
	model, index, version := "a100", int64(7), "1.2.3"
	return cel.Device{
		Driver: "gpu.example.com",
		Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
			"model":   {StringValue: &model},
			"index":   {IntValue: &index},
			"version": {VersionValue: &version},
		},
		Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
			"memory": {Value: resource.MustParse("40Gi")},
		},
	}
}
