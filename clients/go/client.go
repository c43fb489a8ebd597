// Package mooring asks a mooring server on which node a pod should run, and why.
//
//	client, err := mooring.New("127.0.0.1:50051")
//	result, err := client.Schedule(ctx, mooring.Batch{Pods: []mooring.Pods{{Template: mooring.JSON(manifest)}}})
//	fmt.Println(result.Placements[0].Node)
//
// A [Client] repeats calls that may be repeated, in the time that the context leaves. Calls that fail return an [*Error].
// It is also a [grpc.ClientConnInterface], so all stubs of the package mooringv1 call by the same rules:
//
//	plugins, err := mooringv1.NewPluginServiceClient(client).ListPlugins(ctx, &mooringv1.ListPluginsRequest{})
package mooring

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"mooring.dev/go/mooring/mooringv1"
)

//go:generate rm -rf mooringv1 pluginhostv1
//go:generate buf generate

const (
	defaultTimeout     = 10 * time.Second
	defaultAnswerBytes = 64 << 20
	firstPause         = 50 * time.Millisecond
	longestPause       = time.Second
)

// Client calls one server. Indices, sessions and reservations are one replica's, so a target should be one process.
// It is safe for concurrent use.
type Client struct {
	options    options
	connection *grpc.ClientConn
	cluster    mooringv1.ClusterServiceClient
	scheduling mooringv1.SchedulingServiceClient
	simulation mooringv1.SimulationServiceClient
	decisions  mooringv1.DecisionServiceClient

	refreshing sync.Mutex
	table      atomic.Pointer[nodeTable]

	leaders leaders
}

type options struct {
	tls         *tls.Config
	timeout     time.Duration
	answerBytes int
	dial        []grpc.DialOption
}

// Option changes how a client calls.
type Option func(*options)

// WithTLS turns TLS on. A certificate in config makes it mutual. [LoadTLS] reads one from files.
func WithTLS(config *tls.Config) Option { return func(o *options) { o.tls = config } }

// WithTimeout sets the time of a call whose context has no deadline; default 10 s.
func WithTimeout(timeout time.Duration) Option { return func(o *options) { o.timeout = timeout } }

// WithMaxAnswerBytes sets the size of the largest answer that is taken; default 64 MiB. A larger one fails the call.
func WithMaxAnswerBytes(size int) Option { return func(o *options) { o.answerBytes = size } }

// WithDialOptions adds options of gRPC, such as interceptors and stats handlers.
func WithDialOptions(dial ...grpc.DialOption) Option {
	return func(o *options) { o.dial = append(o.dial, dial...) }
}

// New returns a client of target, which is HOST:PORT, unix:/PATH, or another name that gRPC resolves. It connects with the
// first call.
func New(target string, configure ...Option) (*Client, error) {
	c := &Client{
		options: options{timeout: defaultTimeout, answerBytes: defaultAnswerBytes},
		leaders: leaders{byAddress: map[string]*grpc.ClientConn{}},
	}
	for _, each := range configure {
		each(&c.options)
	}
	connection, err := c.options.connect(target)
	if err != nil {
		return nil, err
	}
	c.connection = connection
	c.cluster = mooringv1.NewClusterServiceClient(c)
	c.scheduling = mooringv1.NewSchedulingServiceClient(c)
	c.simulation = mooringv1.NewSimulationServiceClient(c)
	c.decisions = mooringv1.NewDecisionServiceClient(c)
	return c, nil
}

// Close ends the connections. Calls that are under way fail.
func (c *Client) Close() error {
	c.leaders.mutex.Lock()
	defer c.leaders.mutex.Unlock()
	for _, each := range c.leaders.byAddress {
		each.Close()
	}
	return c.connection.Close()
}

func (o *options) connect(target string) (*grpc.ClientConn, error) {
	transport := insecure.NewCredentials()
	if o.tls != nil {
		transport = credentials.NewTLS(o.tls)
	}
	dial := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(o.answerBytes)),
		// The rule for repeats is the client's own.
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: firstPause, Multiplier: 2, Jitter: 0.2, MaxDelay: longestPause},
			MinConnectTimeout: longestPause,
		}),
	}
	return grpc.NewClient(target, append(dial, o.dial...)...)
}

// Invoke makes one call of a generated stub, with repeats. It is here for those stubs.
func (c *Client) Invoke(ctx context.Context, method string, request, reply any, options ...grpc.CallOption) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	return c.repeat(ctx, method, request, func(connection *grpc.ClientConn) error {
		return connection.Invoke(ctx, method, request, reply, options...)
	})
}

// NewStream begins a stream of a generated stub. It is here for those stubs; [Client.WatchNodes] and
// [Client.WatchDecisions] go on after failures.
func (c *Client) NewStream(
	ctx context.Context, description *grpc.StreamDesc, method string, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return c.connection.NewStream(ctx, description, method, options...)
}

// bounded returns a context with a deadline.
func (c *Client) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, c.options.timeout)
}

// LoadTLS reads certificates in PEM: that of the server's authority, and the client's own with its key, "" for none.
func LoadTLS(authority, certificate, key string) (*tls.Config, error) {
	trusted, err := os.ReadFile(authority)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM(trusted) {
		return nil, fmt.Errorf("mooring: %s has no certificate", authority)
	}
	if certificate != "" {
		own, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}
