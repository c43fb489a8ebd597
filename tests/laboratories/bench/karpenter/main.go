// Command karpenter asks Karpenter's own code, for one node after another, whether the node could go.
//
// It reads the nodes and their pods as one JSON object from standard input. For each of the first nodes it
// calls SimulateScheduling, on which Karpenter's consolidation decides, with that node as the only candidate.
// It writes what processor time that took, and where each pod of the node landed, as one JSON object.
//
// Karpenter's controllers keep an indexed cache of the API server's objects. Here a map by node stands for it,
// which costs less.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/fake"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/dynamicresources/deviceallocation"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/state/virtualpods"
	"sigs.k8s.io/karpenter/pkg/utils/pdb"
)

const (
	pool         = "pool"
	instanceType = "type"
	capacityType = "on-demand"
)

type cluster struct {
	Nodes      []*corev1.Node `json:"nodes"`
	Pods       []corev1.Pod   `json:"pods"`
	Candidates int            `json:"candidates"`
}

type verdict struct {
	Node     string            `json:"node"`
	Seconds  float64           `json:"seconds"`
	CanGo    bool              `json:"can_go"`
	Landings map[string]string `json:"landings"`
}

type silent struct{}

func (silent) Publish(...events.Event) {}

func main() {
	ctrllog.SetLogger(logging.NopLogger)
	var given cluster
	must(json.NewDecoder(os.Stdin).Decode(&given))
	verdicts := simulate(given)
	must(json.NewEncoder(os.Stdout).Encode(map[string]any{"go": runtime.Version(), "verdicts": verdicts}))
}

func simulate(given cluster) []verdict {
	ctx := options.ToContext(context.Background(), &options.Options{
		PreferencePolicy:  options.PreferencePolicyRespect,
		MinValuesPolicy:   options.MinValuesPolicyStrict,
		IgnoreDRARequests: true,
	})
	kube := kubeClient(given)
	provider := fake.NewCloudProvider()
	provider.InstanceTypes = []*cloudprovider.InstanceType{
		fake.NewInstanceType(instanceType, fake.WithResources(given.Nodes[0].Status.Allocatable.DeepCopy())),
	}
	known := clock.RealClock{}
	nodes := state.NewCluster(known, kube, provider)
	for number, node := range given.Nodes {
		own(node, number)
		nodes.UpdateNodeClaim(claimOf(node))
		must(nodes.UpdateNode(ctx, node))
	}
	provisioner := provisioning.NewProvisioner(kube, silent{}, provider, nodes, known,
		deviceallocation.NewController(kube), virtualpods.NewVirtualPodCache(kube))
	queue := disruption.NewQueue(kube, silent{}, nodes, known, provisioner)
	pools, types, err := disruption.BuildNodePoolMap(ctx, kube, provider)
	must(err)
	budgets, err := pdb.NewLimits(ctx, kube)
	must(err)

	byName := map[string]*state.StateNode{}
	for _, node := range nodes.DeepCopyNodes() {
		byName[node.Name()] = node
	}
	verdicts := make([]verdict, 0, given.Candidates)
	for _, node := range given.Nodes[:given.Candidates] {
		began := processorTime()
		candidate, err := disruption.NewCandidate(ctx, kube, silent{}, known, byName[node.Name], budgets, pools, types,
			queue, disruption.GracefulDisruptionClass)
		must(err)
		found, err := disruption.SimulateScheduling(ctx, kube, nodes, provisioner, known, silent{}, nil,
			disruption.SimulationOptions{}, candidate)
		must(err)
		verdicts = append(verdicts, verdictOf(node.Name, processorTime()-began, found))
	}
	return verdicts
}

// processorTime is what the process took so far, its garbage collector included.
func processorTime() time.Duration {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func verdictOf(node string, took time.Duration, found scheduling.Results) verdict {
	landings := map[string]string{}
	for _, existing := range found.ExistingNodes {
		for _, pod := range existing.Pods {
			landings[pod.Name] = existing.Name()
		}
	}
	canGo := found.AllNonPendingPodsScheduled() && len(found.NewNodeClaims) == 0
	return verdict{Node: node, Seconds: took.Seconds(), CanGo: canGo, Landings: landings}
}

// kubeClient stands for the API server: pods by their node, and the one NodePool.
func kubeClient(given cluster) client.Client {
	byNode := map[string][]corev1.Pod{}
	for _, pod := range given.Pods {
		byNode[pod.Spec.NodeName] = append(byNode[pod.Spec.NodeName], pod)
	}
	nodePool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: pool, UID: pool}}
	nodePool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{
		Group: "karpenter.test.sh", Kind: "TestNodeClass", Name: "default",
	}
	nodePool.StatusConditions().SetTrue(v1.ConditionTypeValidationSucceeded)
	nodePool.StatusConditions().SetTrue(v1.ConditionTypeNodeClassReady)
	if !nodePool.StatusConditions().Root().IsTrue() {
		log.Fatalf("the NodePool is not ready: %v", status.ConditionReady)
	}
	plain := fakeclient.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(nodePool).WithStatusSubresource().Build()
	return interceptor.NewClient(plain, interceptor.Funcs{
		List: func(ctx context.Context, plain client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			pods, ok := list.(*corev1.PodList)
			if !ok {
				return plain.List(ctx, list, opts...)
			}
			asked := (&client.ListOptions{}).ApplyOptions(opts)
			node, ok := nodeOf(asked.FieldSelector)
			if !ok {
				return fmt.Errorf("only pods of a node are listed here, not those of %v", opts)
			}
			pods.Items = append([]corev1.Pod(nil), byNode[node]...)
			return nil
		},
	})
}

func nodeOf(selector fields.Selector) (string, bool) {
	if selector == nil {
		return "", false
	}
	return selector.RequiresExactMatch("spec.nodeName")
}

// own makes a node one that Karpenter made.
func own(node *corev1.Node, number int) {
	for key, value := range map[string]string{
		v1.NodePoolLabelKey:            pool,
		v1.NodeRegisteredLabelKey:      "true",
		v1.NodeInitializedLabelKey:     "true",
		v1.CapacityTypeLabelKey:        capacityType,
		corev1.LabelInstanceTypeStable: instanceType,
		corev1.LabelArchStable:         "amd64",
		corev1.LabelOSStable:           "linux",
	} {
		node.Labels[key] = value
	}
	node.Spec.ProviderID = "fake://" + strconv.Itoa(number)
	node.Status.Capacity = node.Status.Allocatable.DeepCopy()
}

func claimOf(node *corev1.Node) *v1.NodeClaim {
	return &v1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: node.Labels},
		Status: v1.NodeClaimStatus{
			ProviderID:  node.Spec.ProviderID,
			NodeName:    node.Name,
			Capacity:    node.Status.Capacity,
			Allocatable: node.Status.Allocatable,
		},
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
