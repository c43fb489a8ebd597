// Command adapter_client asks the adapters that serve gRPC, with objects that Kubernetes' own code encodes.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	estimator "mooring.dev/adapterclient/gen/mooring_estimator/wire"
)

// marshaler is what the types of k8s.io/api and resource.Quantity have.
type marshaler interface{ Marshal() ([]byte, error) }

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: adapter_client HOST:PORT")
		os.Exit(2)
	}
	if err := ask(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ask(address string) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client := estimator.NewEstimatorClient(conn)
	for _, form := range []string{"messages", "bytes"} {
		request := &estimator.MaxAvailableReplicasRequest{Cluster: "member", ReplicaRequirements: requirements(form)}
		answer, err := client.MaxAvailableReplicas(ctx, request)
		if err != nil {
			return err
		}
		fmt.Println("replicas as", form, answer.MaxReplicas)
	}
	needs := &estimator.ComponentReplicaRequirements{ResourceRequestBytes: requests()}
	sets, err := client.MaxAvailableComponentSets(ctx, &estimator.MaxAvailableComponentSetsRequest{
		Cluster:    "member",
		Components: []*estimator.Component{{Name: "worker", Replicas: 3, ReplicaRequirements: needs}},
	})
	if err != nil {
		return err
	}
	fmt.Println("sets", sets.MaxSets)
	workload := &estimator.ObjectReference{ApiVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "web"}
	waiting, err := client.GetUnschedulableReplicas(ctx, &estimator.UnschedulableReplicasRequest{
		Cluster: "member", Resource: workload, UnschedulableThreshold: int64(time.Minute),
	})
	if err != nil {
		return err
	}
	fmt.Println("unschedulable", waiting.UnschedulableReplicas)
	return nil
}

// requirements are one core, in the west, on nodes with a taint or without, as before Karmada 1.18 or since.
func requirements(form string) *estimator.ReplicaRequirements {
	term := corev1.NodeSelectorRequirement{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"west"}}
	affinity := encoded(&corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{term}}},
	})
	toleration := encoded(&corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists})
	if form == "bytes" {
		claim := &estimator.NodeClaim{NodeAffinityBytes: affinity, TolerationsBytes: [][]byte{toleration}}
		return &estimator.ReplicaRequirements{NodeClaim: claim, ResourceRequestBytes: requests()}
	}
	claim := &estimator.NodeClaim{NodeAffinity: affinity, Tolerations: [][]byte{toleration}}
	return &estimator.ReplicaRequirements{NodeClaim: claim, ResourceRequest: requests()}
}

func requests() map[string][]byte {
	one := resource.MustParse("1")
	return map[string][]byte{"cpu": encoded(&one)}
}

func encoded(object marshaler) []byte {
	bytes, err := object.Marshal()
	if err != nil {
		panic(err)
	}
	return bytes
}
