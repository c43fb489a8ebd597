// Command driver plays the contract suite with this client: commands from standard input, results to standard output, as
// clients/contract/README.md says.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"mooring.dev/go/mooring"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "driver:", err)
		os.Exit(1)
	}
}

func run(input io.Reader, output io.Writer) error {
	authority := flag.String("ca", "", "certificate of the server's authority: turns TLS on")
	certificate := flag.String("cert", "", "the client's certificate")
	key := flag.String("key", "", "its key")
	size := flag.Int("max-message-bytes", 0, "the largest answer that is taken")
	flag.Parse()
	var options []mooring.Option
	if *size > 0 {
		options = append(options, mooring.WithMaxAnswerBytes(*size))
	}
	if *authority != "" {
		config, err := mooring.LoadTLS(*authority, *certificate, *key)
		if err != nil {
			return err
		}
		options = append(options, mooring.WithTLS(config))
	}
	client, err := mooring.New(flag.Arg(0), options...)
	if err != nil {
		return err
	}
	defer client.Close()
	lines := bufio.NewReader(input)
	answers := json.NewEncoder(output)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 {
			if err == io.EOF {
				return nil
			}
			return err
		}
		var asked command
		if err := json.Unmarshal(line, &asked); err != nil {
			return err
		}
		result, err := play(client, asked)
		if err != nil {
			if result, err = failed(err); err != nil {
				return err
			}
			err = answers.Encode(object{"error": result})
		} else {
			err = answers.Encode(object{"result": result})
		}
		if err != nil {
			return err
		}
	}
}

// play does a command in its time.
func play(client *mooring.Client, asked command) (any, error) {
	call, known := calls[asked.Call]
	if !known {
		return nil, fmt.Errorf("there is no call %q", asked.Call)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(asked.Timeout*float64(time.Second)))
	defer cancel()
	return call(ctx, client, asked)
}

func failed(err error) (any, error) {
	var e *mooring.Error
	if !errors.As(err, &e) {
		return nil, err
	}
	fields := []object{}
	for _, each := range e.Violations {
		fields = append(fields, object{"field": each.Field, "description": each.Description})
	}
	metadata := e.Metadata
	if metadata == nil {
		metadata = map[string]string{}
	}
	return object{
		"code": codeName(e.Code), "reason": bare(e.Reason.String(), "ERROR_REASON_"), "message": e.Message, "metadata": metadata,
		"fields": fields, "repeat": e.Repeatable,
	}, nil
}

// codeName spells a code as the protocol does: DeadlineExceeded is DEADLINE_EXCEEDED, Canceled is CANCELLED.
func codeName(code codes.Code) string {
	if code == codes.Canceled {
		return "CANCELLED"
	}
	var name strings.Builder
	for i, letter := range code.String() {
		if i > 0 && letter >= 'A' && letter <= 'Z' && code != codes.OK {
			name.WriteByte('_')
		}
		name.WriteRune(letter)
	}
	return strings.ToUpper(name.String())
}
