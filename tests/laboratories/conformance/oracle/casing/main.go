// What Go's JSON decoder makes of an extender's documents.
//
// With the argument types it prints the fields of each Go type that such a document holds, one object of all types:
// adapters/mooring_extender/go_types.json. Without, it reads one ExtenderArgs a line and prints what was decoded.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"reflect"
	"strings"

	extender "k8s.io/kube-scheduler/extender/v1"
)

type types map[string]map[string]string

func main() {
	if len(os.Args) > 1 && os.Args[1] == "types" {
		printTypes()
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var args extender.ExtenderArgs
		if err := json.Unmarshal(lines.Bytes(), &args); err != nil {
			log.Fatal(err)
		}
		if err := answers.Encode(args); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

func printTypes() {
	found := types{}
	for _, document := range []any{
		extender.ExtenderArgs{}, extender.ExtenderBindingArgs{}, extender.ExtenderPreemptionArgs{},
	} {
		found.add(reflect.TypeOf(document))
	}
	text, err := json.MarshalIndent(found, "", " ")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
}

// add notes the struct in t, and returns its name, after "map:" if t is a map; "" if t has no struct.
func (found types) add(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return found.add(t.Elem())
	case reflect.Map:
		if value := found.add(t.Elem()); value != "" {
			return "map:" + value
		}
	case reflect.Struct:
		if _, own := reflect.New(t).Interface().(json.Unmarshaler); own {
			return ""
		}
		if found[t.Name()] == nil {
			found[t.Name()] = map[string]string{}
			found.addFields(t, found[t.Name()])
		}
		return t.Name()
	}
	return ""
}

func (found types) addFields(t reflect.Type, fields map[string]string) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			found.addFields(field.Type, fields)
		case !field.IsExported() || name == "-":
		case name == "":
			fields[field.Name] = found.add(field.Type)
		default:
			fields[name] = found.add(field.Type)
		}
	}
}
