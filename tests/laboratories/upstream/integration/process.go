package scheduler

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	baseversion "k8s.io/component-base/version"
	configv1 "k8s.io/kube-scheduler/config/v1"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// schedulerCommand is the program that takes the scheduler's place, and its first arguments; none = the
// scheduler runs in this process, as the suite has it.
var schedulerCommand = strings.Fields(os.Getenv("SCHEDULER_COMMAND"))

// notFollowed are gates that the program doesn't follow, each with the reason, by line.
var notFollowed = strings.Split(os.Getenv("SCHEDULER_LACKS"), "\n")

// followed is the release of the suite, and of the program.
var followed = utilversion.MustParse(baseversion.DefaultKubeBinaryVersion)

// optionsOf holds what each *Scheduler was made with.
var optionsOf sync.Map

// New makes a Scheduler as newInProcess does. Its informers and its cache keep to the cluster, so a case can
// wait for what is in them; what schedules is started by Run.
func New(ctx context.Context,
	client clientset.Interface,
	informerFactory informers.SharedInformerFactory,
	dynInformerFactory dynamicinformer.DynamicSharedInformerFactory,
	recorderFactory profile.RecorderFactory,
	opts ...Option) (*Scheduler, error) {
	options := defaultSchedulerOptions
	for _, opt := range opts {
		opt(&options)
	}
	if len(schedulerCommand) > 0 {
		if err := notForAProcess(&options); err != nil {
			return nil, err
		}
	}
	sched, err := newInProcess(ctx, client, informerFactory, dynInformerFactory, recorderFactory, opts...)
	if err == nil {
		optionsOf.Store(sched, options)
	}
	return sched, err
}

// Run runs the scheduler until ctx is done: the program of SCHEDULER_COMMAND, if there is one.
func (sched *Scheduler) Run(ctx context.Context) {
	if len(schedulerCommand) == 0 {
		sched.runInProcess(ctx)
		return
	}
	options, _ := optionsOf.Load(sched)
	if err := runProgram(ctx, options.(schedulerOptions)); err != nil {
		fmt.Printf("\nscheduler process: %v\n", err)
	}
}

// notForAProcess says which of the options only a scheduler of the same process can follow.
func notForAProcess(options *schedulerOptions) error {
	switch {
	case len(options.frameworkOutOfTreeRegistry) > 0:
		return errors.New("NOT APPLICABLE: plugins in Go")
	case options.clock != defaultSchedulerOptions.clock:
		return errors.New("NOT APPLICABLE: a clock of the case's own")
	case !utilfeature.DefaultMutableFeatureGate.EmulationVersion().EqualTo(followed):
		return errors.New("NOT APPLICABLE: an emulated release, in which gates can be set that the followed one locks")
	case options.frameworkCapturer != nil || options.nodeInfoSnapshot != nil:
		return errors.New("NOT APPLICABLE: a Go structure shared with the case")
	}
	changed := changedGates()
	for _, gate := range notFollowed {
		if name, _, _ := strings.Cut(gate, ":"); slices.Contains(changed, name+"=true") {
			return errors.New("NOT APPLICABLE: the gate " + gate)
		}
	}
	return nil
}

func runProgram(ctx context.Context, options schedulerOptions) error {
	dir, err := os.MkdirTemp("", "scheduler")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	kubeconfig, config := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "config.yaml")
	if err := clientcmd.WriteToFile(kubeconfigFor(options.kubeConfig), kubeconfig); err != nil {
		return err
	}
	written, err := configuration(options, kubeconfig)
	if err != nil {
		return err
	}
	if err := os.WriteFile(config, written, 0o600); err != nil {
		return err
	}
	log, err := os.OpenFile(os.Getenv("SCHEDULER_LOG"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()

	arguments := append(schedulerCommand[1:len(schedulerCommand):len(schedulerCommand)],
		"--config="+config, "--secure-port=0", "--feature-gates="+strings.Join(changedGates(), ","),
		"--pod-max-in-unschedulable-pods-duration="+options.podMaxInUnschedulablePodsDuration.String())
	command := exec.CommandContext(ctx, schedulerCommand[0], arguments...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 10 * time.Second
	command.Stdout, command.Stderr = log, log
	fmt.Printf("\nscheduler process: started\n")
	if err := command.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("it ended: %w", err)
	}
	return nil
}

func kubeconfigFor(config *rest.Config) clientcmdapi.Config {
	const name = "integration"
	written := *clientcmdapi.NewConfig()
	written.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   config.Host,
		TLSServerName:            config.ServerName,
		InsecureSkipTLSVerify:    config.Insecure,
		CertificateAuthority:     config.CAFile,
		CertificateAuthorityData: config.CAData,
	}
	written.AuthInfos[name] = &clientcmdapi.AuthInfo{
		Token:                 config.BearerToken,
		ClientCertificate:     config.CertFile,
		ClientCertificateData: config.CertData,
		ClientKey:             config.KeyFile,
		ClientKeyData:         config.KeyData,
	}
	written.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	written.CurrentContext = name
	return written
}

// configuration is the file that says what options say. A program takes no backoff below a second.
func configuration(options schedulerOptions, kubeconfig string) ([]byte, error) {
	versioned := configv1.KubeSchedulerConfiguration{}
	scheme.Scheme.Default(&versioned)
	config := schedulerapi.KubeSchedulerConfiguration{}
	if err := scheme.Scheme.Convert(&versioned, &config, nil); err != nil {
		return nil, err
	}
	if !options.applyDefaultProfile {
		config.Profiles = options.profiles
	}
	config.Extenders = options.extenders
	config.Parallelism = options.parallelism
	config.PercentageOfNodesToScore = &options.percentageOfNodesToScore
	config.PodInitialBackoffSeconds = max(1, options.podInitialBackoffSeconds)
	config.PodMaxBackoffSeconds = max(config.PodInitialBackoffSeconds, options.podMaxBackoffSeconds)
	config.LeaderElection.LeaderElect = false
	config.ClientConnection.Kubeconfig = kubeconfig
	config.ClientConnection.QPS = options.kubeConfig.QPS
	config.ClientConnection.Burst = int32(options.kubeConfig.Burst)

	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeYAML)
	encoder := scheme.Codecs.EncoderForVersion(info.Serializer, configv1.SchemeGroupVersion)
	written := &bytes.Buffer{}
	err := encoder.Encode(&config, written)
	return written.Bytes(), err
}

// changedGates are those that the case has set otherwise than the release.
func changedGates() []string {
	changed := []string{}
	for name, spec := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		enabled := utilfeature.DefaultFeatureGate.Enabled(name)
		if name != "AllAlpha" && name != "AllBeta" && enabled != spec.Default {
			changed = append(changed, fmt.Sprintf("%s=%t", name, enabled))
		}
	}
	sort.Strings(changed)
	return changed
}
