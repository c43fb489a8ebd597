// Command decide places pods with kube-scheduler's own code, a scheduling cycle each: snapshot, SchedulePod, assume,
// Reserve, and PostFilter if told so; no queue, no API server, no bind.
//
// Pods are signed and cycles are counted as its queue does, so OpportunisticBatching reuses results wherever it can. With the
// default profile it can't: default spread constraints look at other pods, so that no pod has a signature.
//
// Each line of stdin is {"objects": [...], "pods": [...]}: what the cluster has from now on, and the pods to place one after
// the other. Each gets a line on stdout: {"seconds": ..., "placed": ..., "refusal": ...}. Reading, decoding and signing are
// not in the seconds, nor is writing the claims of devices that are reserved. That victims of preemption go is in them,
// without the API calls for that.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

type question struct {
	Objects []json.RawMessage `json:"objects"`
	Pods    []json.RawMessage `json:"pods"`
}

type answer struct {
	Seconds float64 `json:"seconds"`
	Placed  int     `json:"placed"`
	// Refusal is why the last pod without a node has none.
	Refusal string `json:"refusal"`
}

type settings struct {
	percentage int32
	noSpread   bool
	preempts   bool
}

func main() {
	percentage := flag.Int("percentage", 0, "percentageOfNodesToScore; 0 = the default sampling, 100 = for victims too")
	noSpread := flag.Bool("no-default-spread", false, "leave out the default spread constraints, so that pods have signatures")
	preempts := flag.Bool("preempt", false, "run PostFilter for a pod that fits nowhere, and place it where it makes room")
	flag.Parse()
	silenceKlog()
	metrics.Register()
	if err := serve(settings{percentage: int32(*percentage), noSpread: *noSpread, preempts: *preempts}); err != nil {
		fmt.Fprintln(os.Stderr, "decide:", err)
		os.Exit(1)
	}
}

func silenceKlog() {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	_ = flags.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"})
	klog.SetOutput(io.Discard)
}

func serve(chosen settings) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	d, err := newDecider(ctx, chosen)
	if err != nil {
		return err
	}
	questions, answers := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20)), json.NewEncoder(os.Stdout)
	for {
		var asked question
		if err := questions.Decode(&asked); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		said, err := d.answer(&asked)
		if err != nil {
			return err
		}
		if err := answers.Encode(said); err != nil {
			return err
		}
	}
}

// parse reads a manifest with the defaults that the API server fills in.
func parse(raw []byte) (runtime.Object, error) {
	object, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	legacyscheme.Scheme.Default(object)
	return object, nil
}
