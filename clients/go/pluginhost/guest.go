package pluginhost

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"mooring.dev/go/mooring/pluginhostv1"
)

var guest *host

// Guest makes a module for WebAssembly a guest with these plugins. Call it in init, and build with
// GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared. In other programs it does nothing.
//
// A guest serves Filter and Score. It has no files, no network and no clock.
func Guest(version string, plugins ...Plugin) {
	made, err := newHost(version, plugins)
	if err != nil {
		panic(err)
	}
	guest = made
}

// framed returns a byte with the code of gRPC, and then the answer, or the text of the error.
func (h *host) framed(method uint32, request []byte) (answer []byte) {
	defer func() {
		if why := recover(); why != nil {
			answer = append([]byte{byte(codes.Unknown)}, fmt.Sprintf("panic: %v", why)...)
		}
	}()
	message, err := h.answered(method, request)
	if err == nil {
		answer, err = proto.MarshalOptions{}.MarshalAppend([]byte{byte(codes.OK)}, message)
	}
	if err != nil {
		told := status.Convert(err)
		return append([]byte{byte(told.Code())}, told.Message()...)
	}
	return answer
}

func (h *host) answered(method uint32, request []byte) (proto.Message, error) {
	ctx := context.Background()
	switch method {
	case 1:
		return h.described, nil
	case 2:
		read := &pluginhostv1.ConfigureRequest{}
		if err := proto.Unmarshal(request, read); err != nil {
			return nil, err
		}
		return h.Configure(ctx, read)
	case 3:
		read := &pluginhostv1.EvaluateRequest{}
		if err := proto.Unmarshal(request, read); err != nil {
			return nil, err
		}
		return h.Evaluate(ctx, read)
	}
	return nil, status.Error(codes.Unimplemented, "a guest does not measure and does not act")
}
