// Command queue plays histories on kube-scheduler's own scheduling queue, with a clock that stands still.
//
// It reads one history per line on stdin, {"id": ..., "steps": [...]}, and writes one line per history,
// {"id": ..., "seen": [...]}: after each step, what was popped and where every pod is.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

type history struct {
	ID     json.RawMessage `json:"id"`
	Groups bool            `json:"groups"`
	Steps  []step          `json:"steps"`
}

type answer struct {
	ID   json.RawMessage `json:"id"`
	Seen []seen          `json:"seen"`
}

func main() {
	silence()
	metrics.Register()
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	decoder := json.NewDecoder(lines)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	for decoder.More() {
		var given history
		if err := decoder.Decode(&given); err != nil {
			fmt.Fprintln(os.Stderr, "queue:", err)
			os.Exit(1)
		}
		ctx, cancel := context.WithCancel(context.Background())
		enableGroups(given.Groups)
		player := newPlayer(ctx)
		found := answer{ID: given.ID}
		for _, next := range given.Steps {
			found.Seen = append(found.Seen, player.play(next))
		}
		cancel()
		if err := encoder.Encode(found); err != nil {
			fmt.Fprintln(os.Stderr, "queue:", err)
			os.Exit(1)
		}
	}
}

func silence() {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	_ = flags.Set("logtostderr", "false")
	_ = flags.Set("alsologtostderr", "false")
	_ = flags.Set("stderrthreshold", "FATAL")
	klog.SetOutput(discard{})
}

type discard struct{}

func (discard) Write(data []byte) (int, error) { return len(data), nil }
