package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"mooring.dev/go/mooring"
)

func main() {
	client, err := mooring.New(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	pod := mooring.JSON([]byte(`{"metadata": {"name": "web", "namespace": "default"}, "spec": {"containers": [{"name": "web"}]}}`))
	batch := mooring.Batch{Pods: []mooring.Pods{{Template: pod, UIDs: []string{"web-1", "web-2"}}}}
	answer, err := client.Schedule(context.Background(), batch)
	if err != nil {
		log.Fatal(err)
	}
	for _, placement := range answer.Placements {
		fmt.Println(placement.UID, placement.Node, placement.Verdict.Message)
	}
}
