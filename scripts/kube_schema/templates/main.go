// Prints the Go types of pod templates as JSON lines, for src/stretto/api/schema/data/pod_template.jsonl.
//
// With the argument "hash", it reads templates from standard input and prints the hash of each as
// kube-controller-manager computes it, without and with a collision count of 3. Build it with the
// go.mod of src/stretto_lab/control_plane/modules/kubernetes.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/dump"
)

var structs = map[string][][3]string{}
var named = map[string]string{}

func tag(f reflect.StructField) string {
	t := f.Tag.Get("json")
	for i := range t {
		if t[i] == ',' {
			return t[:i]
		}
	}
	return t
}
func walk(t reflect.Type) {
	switch t.Kind() {
	case reflect.Ptr, reflect.Slice:
		walk(t.Elem())
	case reflect.Map:
		walk(t.Key())
		walk(t.Elem())
	}
	n := t.String()
	if t.Kind() != reflect.Struct {
		if t.Name() != "" && t.Name() != t.Kind().String() {
			switch t.Kind() {
			case reflect.Map:
				named[n] = "map[" + t.Key().String() + "]" + t.Elem().String()
			case reflect.Slice:
				named[n] = "[]" + t.Elem().String()
			default:
				named[n] = t.Kind().String()
			}
		}
		return
	}
	if n == "v1.ManagedFieldsEntry" || n == "v1.Time" || n == "resource.Quantity" || n == "intstr.IntOrString" || n == "v1.FieldsV1" {
		return
	}
	if old, ok := structs[n]; ok {
		if len(old) != t.NumField() {
			panic("two types " + n)
		}
		return
	}
	fs := [][3]string{}
	structs[n] = make([][3]string, t.NumField())
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		fs = append(fs, [3]string{f.Name, tag(f), f.Type.String()})
	}
	structs[n] = fs
	for i := 0; i < t.NumField(); i++ {
		walk(t.Field(i).Type)
	}
}

func main() {
	if len(os.Args) > 1 {
		in := bufio.NewScanner(os.Stdin)
		in.Buffer(make([]byte, 1<<20), 1<<20)
		for in.Scan() {
			var t v1.PodTemplateSpec
			if err := json.Unmarshal(in.Bytes(), &t); err != nil {
				panic(err)
			}
			raw, err := t.Marshal() // through protobuf, as a controller receives it
			if err != nil {
				panic(err)
			}
			var u v1.PodTemplateSpec
			if err := u.Unmarshal(raw); err != nil {
				panic(err)
			}
			h := fnv.New32a()
			fmt.Fprintf(h, "%v", dump.ForHash(u))
			plain := rand.SafeEncodeString(fmt.Sprint(h.Sum32()))
			b := make([]byte, 8)
			binary.LittleEndian.PutUint32(b, 3)
			h.Write(b)
			fmt.Println(plain, rand.SafeEncodeString(fmt.Sprint(h.Sum32())))
		}
		return
	}
	walk(reflect.TypeOf(v1.PodTemplateSpec{}))
	e := json.NewEncoder(os.Stdout)
	e.SetEscapeHTML(false)
	for _, n := range sorted(named) {
		e.Encode([]any{"name", n, named[n]})
	}
	for _, n := range sorted(structs) {
		e.Encode([]any{"struct", n, structs[n]})
	}
}

func sorted[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
