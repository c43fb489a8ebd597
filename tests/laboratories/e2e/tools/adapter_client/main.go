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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	estimator "mooring.dev/adapterclient/gen/mooring_estimator/wire"
	expander "mooring.dev/adapterclient/gen/mooring_expander/wire"
)

// marshaler is what the types of k8s.io/api and resource.Quantity have.
type marshaler interface{ Marshal() ([]byte, error) }

func main() {
	questions := map[string]func(context.Context, *grpc.ClientConn) error{"estimator": estimate, "expander": expand}
	if len(os.Args) != 3 || questions[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: adapter_client estimator|expander HOST:PORT")
		os.Exit(2)
	}
	if err := ask(os.Args[2], questions[os.Args[1]]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ask(address string, question func(context.Context, *grpc.ClientConn) error) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return question(ctx, conn)
}

func estimate(ctx context.Context, conn *grpc.ClientConn) error {
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

// expand offers a group of small nodes and one of large nodes for three pods, as before Cluster Autoscaler 1.35 or since.
func expand(ctx context.Context, conn *grpc.ClientConn) error {
	var pods [][]byte
	for _, name := range []string{"a", "b", "c"} {
		needs := corev1.ResourceRequirements{Requests: amounts("cpu", "1")}
		pods = append(pods, encoded(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: needs}}},
		}))
	}
	nodes := map[string][]byte{"small": node("2"), "large": node("4")}
	for _, form := range []string{"messages", "bytes"} {
		request := &expander.BestOptionsRequest{}
		for _, group := range []string{"small", "large"} {
			option := &expander.Option{NodeGroupId: group, NodeCount: 1}
			if form == "bytes" {
				option.PodBytes, request.NodeBytesMap = pods, nodes
			} else {
				option.Pod, request.NodeMap = pods, nodes
			}
			request.Options = append(request.Options, option)
		}
		answer, err := expander.NewExpanderClient(conn).BestOptions(ctx, request)
		if err != nil {
			return err
		}
		for _, option := range answer.Options {
			fmt.Println("best as", form, option.NodeGroupId)
		}
	}
	return nil
}

func node(cpu string) []byte {
	allocatable := amounts("cpu", cpu, "memory", "8Gi", "pods", "10")
	return encoded(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "template"},
		Status:     corev1.NodeStatus{Allocatable: allocatable},
	})
}

func amounts(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for at := 0; at < len(pairs); at += 2 {
		list[corev1.ResourceName(pairs[at])] = resource.MustParse(pairs[at+1])
	}
	return list
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
