// Command oracle answers scenarios with the plugin code of the real kube-scheduler.
//
// It reads one scenario as JSON per line on stdin and writes one JSON line per scenario, in the same order:
// {"id": ..., "document": {...}}, or {"id": ..., "error": "..."} for a scenario that cannot be decided.
// The document is the one that `mooring explain -o json` prints. A sequence gets {"id": ..., "decisions": [...]}: what a
// whole kube-scheduler makes of one pod after the other. Rounds of groups get {"id": ..., "groups": [...]}.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

type answer struct {
	ID       json.RawMessage `json:"id"`
	Document *document       `json:"document,omitempty"`
	// Decisions has an entry for each step, null for those that are no pod.
	Decisions []*decided  `json:"decisions,omitempty"`
	Hints     *hintAnswer `json:"hints,omitempty"`
	// Groups has an entry for each round.
	Groups []*groupDecided `json:"groups,omitempty"`
	Error  string          `json:"error,omitempty"`
}

func main() {
	workers := flag.Int("workers", runtime.NumCPU(), "scenarios decided at the same time")
	flag.Parse()
	silenceKlog()
	metrics.Register()
	debug.SetGCPercent(400)
	if err := serve(os.Stdin, os.Stdout, *workers); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

// silenceKlog keeps what the plugins log off standard error: at FATAL, as klog copies errors there by itself.
func silenceKlog() {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	_ = flags.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"})
	klog.SetOutput(io.Discard)
}

// serve keeps the order of the answers equal to the order of the questions: each line gets a channel of its own,
// and the channels are drained first in, first out.
func serve(in io.Reader, out io.Writer, workers int) error {
	pending := make(chan chan answer, 4*workers)
	readErr := make(chan error, 1)
	go func() {
		defer close(pending)
		slots := make(chan struct{}, workers)
		lines := bufio.NewReaderSize(in, 1<<20)
		for {
			line, err := lines.ReadBytes('\n')
			if len(line) > 1 {
				result := make(chan answer, 1)
				pending <- result
				slots <- struct{}{}
				go func() {
					result <- decideLine(line)
					<-slots
				}()
			}
			if err == io.EOF {
				readErr <- nil
				return
			}
			if err != nil {
				readErr <- err
				return
			}
		}
	}()
	buffered := bufio.NewWriterSize(out, 1<<20)
	encoder := json.NewEncoder(buffered)
	encoder.SetEscapeHTML(false)
	for result := range pending {
		if err := encoder.Encode(<-result); err != nil {
			return err
		}
		if len(pending) == 0 {
			if err := buffered.Flush(); err != nil {
				return err
			}
		}
	}
	return <-readErr
}

func decideLine(line []byte) (result answer) {
	defer func() {
		if r := recover(); r != nil {
			result.Document, result.Decisions, result.Hints, result.Groups = nil, nil, nil, nil
			result.Error = fmt.Sprintf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	scenario := &scenario{}
	err := json.Unmarshal(line, &scenario.rawScenario)
	result.ID = scenario.ID
	if err == nil {
		// The API server runs under them as well: they say what it fills in and lets pass.
		err = withGates(scenario.Gates, func() error { return result.decide(scenario) })
	}
	if err != nil {
		result.Error = err.Error()
	}
	return result
}

func (a *answer) decide(s *scenario) (err error) {
	if err = s.parse(); err != nil {
		return err
	}
	switch {
	case len(s.Rounds) > 0:
		a.Groups, err = runGroups(s)
	case len(s.Steps) > 0:
		a.Decisions, err = runSequence(s)
	case len(s.Changes) > 0:
		a.Hints, err = askHints(s)
	default:
		a.Document, err = decide(s)
	}
	return err
}
