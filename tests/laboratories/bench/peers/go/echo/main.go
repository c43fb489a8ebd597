// Command echo is the cheapest extender that there can be: every node passes and scores 0, and no JSON is parsed.
//
// With -follow it also keeps nodes and pods of a cluster, as an extender that knows the cluster has to; it looks at none.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	follow := flag.String("follow", "", "kubeconfig of the cluster to follow")
	flag.Parse()
	// A second processor would mostly look for work, and take from the scheduler what it finds none on.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(1000)
	if err := run(*follow); err != nil {
		fmt.Fprintln(os.Stderr, "echo:", err)
		os.Exit(1)
	}
}

func run(kubeconfig string) error {
	if kubeconfig != "" {
		if err := followCluster(kubeconfig); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	http.HandleFunc("POST /filter", func(w http.ResponseWriter, r *http.Request) { answer(w, r, filtered) })
	http.HandleFunc("POST /prioritize", func(w http.ResponseWriter, r *http.Request) { answer(w, r, scored) })
	fmt.Printf("echo ready: http://%s\n", listener.Addr())
	server := &http.Server{ReadHeaderTimeout: time.Minute}
	return server.Serve(listener)
}

// followCluster lists nodes and pods, and goes on watching them.
func followCluster(kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	for _, resource := range []string{"nodes", "pods"} {
		if _, err := factory.ForResource(v1.SchemeGroupVersion.WithResource(resource)); err != nil {
			return err
		}
	}
	forever := context.Background()
	factory.Start(forever.Done())
	for kind, synced := range factory.WaitForCacheSync(forever.Done()) {
		if !synced {
			return fmt.Errorf("%s were not listed", kind)
		}
	}
	return nil
}

func answer(w http.ResponseWriter, r *http.Request, compose func(names []byte) []byte) {
	body := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	said := compose(nodeNames(body))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(said)))
	_, _ = w.Write(said)
}

// nodeNames cuts the names out of ExtenderArgs, between the brackets. It is the last key that kube-scheduler writes.
func nodeNames(body []byte) []byte {
	key := []byte(`"NodeNames":[`)
	names := body[bytes.LastIndex(body, key)+len(key):]
	return names[:bytes.IndexByte(names, ']')]
}

func filtered(names []byte) []byte {
	said := make([]byte, 0, len(names)+16)
	said = append(said, `{"NodeNames":[`...)
	said = append(said, names...)
	return append(said, `]}`...)
}

// scored says 0 for each name, whose quotes and comma are all that has to be known of JSON.
func scored(names []byte) []byte {
	said := make([]byte, 0, 3*len(names)+16)
	said = append(said, '[')
	for len(names) > 0 {
		name, rest, more := bytes.Cut(names, []byte(`,`))
		said = append(said, `{"Host":`...)
		said = append(said, name...)
		said = append(said, `,"Score":0}`...)
		if more {
			said = append(said, ',')
		}
		names = rest
	}
	return append(said, ']')
}
