package mooring_test

import (
	"slices"
	"testing"
	"time"

	"mooring.dev/go/mooring"
	v1 "mooring.dev/go/mooring/mooringv1"
)

// BenchmarkSchedule places one pod on the sample cluster, as a dry run.
func BenchmarkSchedule(b *testing.B) {
	client := connect(b, sample(b, "127.0.0.1:0"))
	batch := mooring.Batch{Pods: []mooring.Pods{{Template: small("one")}}}
	median(b, func() error {
		_, err := client.Schedule(b.Context(), batch)
		return err
	})
}

// BenchmarkNull makes a call that decides nothing.
func BenchmarkNull(b *testing.B) {
	plugins := v1.NewPluginServiceClient(connect(b, sample(b, "127.0.0.1:0")))
	median(b, func() error {
		_, err := plugins.GetCapabilities(b.Context(), &v1.GetCapabilitiesRequest{})
		return err
	})
}

func median(b *testing.B, call func() error) {
	var took []time.Duration
	for b.Loop() {
		begun := time.Now()
		if err := call(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
}
