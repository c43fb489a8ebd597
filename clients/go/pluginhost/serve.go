//go:build !wasip1

package pluginhost

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"mooring.dev/go/mooring/pluginhostv1"
)

// Serve serves plugins on unix:PATH, or on a loopback address, until ctx ends. A socket that is there is replaced; only
// its user may write to the new one.
func Serve(ctx context.Context, address, version string, plugins ...Plugin) error {
	listener, err := listen(address)
	if err != nil {
		return err
	}
	host, err := newHost(version, plugins)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(recovering))
	pluginhostv1.RegisterPluginHostServiceServer(server, host)
	stop := context.AfterFunc(ctx, server.Stop)
	defer stop()
	return server.Serve(listener)
}

// recovering fails the call of a rule that panics, and no other one.
func recovering(
	ctx context.Context, request any, _ *grpc.UnaryServerInfo, answer grpc.UnaryHandler,
) (answered any, err error) {
	defer func() {
		if why := recover(); why != nil {
			err = status.Errorf(codes.Unknown, "panic: %v", why)
		}
	}()
	return answer(ctx, request)
}

func listen(address string) (net.Listener, error) {
	path, isSocket := strings.CutPrefix(address, "unix:")
	if !isSocket {
		return net.Listen("tcp", address)
	}
	path = strings.TrimPrefix(path, "//")
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	return listener, os.Chmod(path, 0o600)
}
