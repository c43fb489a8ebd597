package main

import (
	"encoding/json"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"

	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
)

// rawScenario is one input line. Config null is the default configuration; profile null follows the pod; feature gates
// are those that differ from the release's defaults. With steps it is a sequence, and has no pod of its own. With changes
// it asks what they mean for a pod that waits.
type rawScenario struct {
	ID          json.RawMessage   `json:"id"`
	Objects     []json.RawMessage `json:"objects"`
	Pod         json.RawMessage   `json:"pod"`
	Config      json.RawMessage   `json:"config"`
	Profile     string            `json:"profile"`
	AlwaysScore bool              `json:"always_score"`
	Gates       map[string]bool   `json:"feature_gates"`
	Steps       []rawStep         `json:"steps"`
	Changes     []rawChange       `json:"changes"`
	// Rounds are the objects that arrive before each decision about a group.
	Rounds [][]json.RawMessage `json:"rounds"`
}

type scenario struct {
	rawScenario
	pod     *v1.Pod
	nodes   []*v1.Node
	pods    []*v1.Pod
	objects []runtime.Object
}

// strictDecoder refuses unknown and repeated fields, so that a slip of the generator cannot pass as an absent field.
var strictDecoder = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

// parse decodes the pod and the objects.
func (s *scenario) parse() error {
	if len(s.Steps) == 0 && len(s.Rounds) == 0 {
		obj, err := parseObject(s.Pod)
		if err != nil {
			return fmt.Errorf("pod: %w", err)
		}
		pod, ok := obj.(*v1.Pod)
		if !ok {
			return fmt.Errorf("pod: want a Pod, got %T", obj)
		}
		s.pod = pod
	}
	for i, raw := range s.Objects {
		obj, err := parseObject(raw)
		if err != nil {
			return fmt.Errorf("objects[%d]: %w", i, err)
		}
		switch typed := obj.(type) {
		case *v1.Node:
			s.nodes = append(s.nodes, typed)
		case *v1.Pod:
			s.pods = append(s.pods, typed)
		default:
			s.objects = append(s.objects, obj)
		}
	}
	return nil
}

// clusterScoped are the kinds that have no namespace.
var clusterScoped = sets.New(
	"CSIDriver", "CSINode", "DeviceClass", "DeviceTaintRule", "Namespace", "Node", "PersistentVolume", "PriorityClass", "ResourceSlice", "StorageClass",
	"VolumeAttachment", "VolumeAttributesClass",
)

// parseObject decodes a manifest, defaults and checks it as the API server does, and gives it a namespace and a UID if
// it has none.
func parseObject(raw []byte) (runtime.Object, error) {
	obj, _, err := strictDecoder.Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	legacyscheme.Scheme.Default(obj)
	if obj, err = canonical(obj); err != nil {
		return nil, err
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	if accessor.GetName() == "" {
		return nil, errors.New("metadata.name: required")
	}
	if accessor.GetNamespace() == "" && !clusterScoped.Has(obj.GetObjectKind().GroupVersionKind().Kind) {
		accessor.SetNamespace(v1.NamespaceDefault)
	}
	if accessor.GetUID() == "" {
		accessor.SetUID(types.UID(accessor.GetNamespace() + "/" + accessor.GetName()))
	}
	return obj, validate(obj)
}

// canonical writes and reads an object once, as it reaches the scheduler: "0.5Gi" becomes "512Mi". A quantity that was
// read with a fraction is held by a pointer, and adding a pod's overhead to its pod-level requests would change the pod.
func canonical(obj runtime.Object) (runtime.Object, error) {
	raw, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	stored, _, err := strictDecoder.Decode(raw, nil, nil)
	return stored, err
}

// validate applies the API server's rules to pods and nodes, the kinds that scenarios vary freely.
func validate(obj runtime.Object) error {
	var errs field.ErrorList
	switch typed := obj.(type) {
	case *v1.Pod:
		var pod core.Pod
		if err := legacyscheme.Scheme.Convert(typed.DeepCopy(), &pod, nil); err != nil {
			return err
		}
		// Everything that any cluster could have stored is allowed: the gates' old-object options are taken from the pod itself.
		options := podutil.GetValidationOptionsFromPodSpecAndMeta(&pod.Spec, &pod.Spec, &pod.ObjectMeta, &pod.ObjectMeta)
		options.ResourceIsPod = true
		errs = corevalidation.ValidatePodSpec(&pod.Spec, &pod.ObjectMeta, field.NewPath("spec"), options)
	case *v1.Node:
		var node core.Node
		if err := legacyscheme.Scheme.Convert(typed.DeepCopy(), &node, nil); err != nil {
			return err
		}
		errs = corevalidation.ValidateNode(&node)
	}
	return errs.ToAggregate()
}
