// Prints Go types of Kubernetes as JSON lines, for files in src/stretto/api/schema/data.
//
//	templates  types of pod templates, for pod_template.jsonl
//	internals  internal types of kube-apiserver, for internals.jsonl
//	hashes     hashes of the templates in standard input, for tests
//
// Build it with the go.mod of src/stretto_lab/control_plane/modules/kubernetes.
package main

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	certv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/certificates"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/resource"
)

func main() {
	switch os.Args[1] {
	case "templates":
		t := newTable(templateName)
		t.add(reflect.TypeFor[v1.PodTemplateSpec](), nil)
		t.print()
	case "internals":
		t := newTable(internalName)
		for _, pair := range [][2]any{
			{core.PodTemplateSpec{}, v1.PodTemplateSpec{}},
			{core.PersistentVolumeClaimSpec{}, v1.PersistentVolumeClaimSpec{}},
			{core.PersistentVolumeSource{}, v1.PersistentVolumeSource{}},
			{certificates.CertificateSigningRequestCondition{}, certv1.CertificateSigningRequestCondition{}},
			{batch.JobSpec{}, batchv1.JobSpec{}},
			{resource.ResourceClaimTemplateSpec{}, resourcev1.ResourceClaimTemplateSpec{}},
			{apps.DeploymentStrategy{}, appsv1.DeploymentStrategy{}},
			{apps.DaemonSetUpdateStrategy{}, appsv1.DaemonSetUpdateStrategy{}},
			{apps.StatefulSetUpdateStrategy{}, appsv1.StatefulSetUpdateStrategy{}},
		} {
			t.add(reflect.TypeOf(pair[0]), reflect.TypeOf(pair[1]))
		}
		t.print()
	case "hashes":
		printHashes()
	default:
		panic("unknown argument " + os.Args[1])
	}
}

// templateName returns the Go name of a field, and its name in the API.
func templateName(f reflect.StructField, _ *reflect.StructField) (string, string) {
	return f.Name, tagged(f)
}

// internalName returns the name of an internal field in messages, which is its Go name unless it has
// a tag, and its name in the API.
func internalName(f reflect.StructField, public *reflect.StructField) (string, string) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	shown := f.Name
	if f.Anonymous {
		shown = ""
	} else if name != "" {
		shown = name
		for _, option := range []string{"omitempty", "omitzero"} {
			if slices.Contains(strings.Split(options, ","), option) {
				shown += "," + option
			}
		}
	}
	if public != nil {
		return shown, tagged(*public)
	}
	// The field is a member of the spec of a pod that has moved into its security context.
	return shown, strings.ToLower(f.Name[:1]) + f.Name[1:]
}

// tagged returns the name of a field in the API.
func tagged(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// table contains types by their Go names.
type table struct {
	// structs are the fields of structs: two names and the Go type.
	structs map[string][][3]string
	// named are the types under types with a name of their own.
	named map[string]string
	// names returns the names of a field; the second argument is its counterpart, or nil.
	names func(reflect.StructField, *reflect.StructField) (string, string)
}

func newTable(names func(reflect.StructField, *reflect.StructField) (string, string)) *table {
	return &table{map[string][][3]string{}, map[string]string{}, names}
}

// scalars are structs that are one value in JSON.
var scalars = []string{
	"v1.ManagedFieldsEntry", "v1.Time", "resource.Quantity", "intstr.IntOrString", "v1.FieldsV1",
	"runtime.RawExtension",
}

// add adds a type and the types of its parts. The public type is its counterpart in the API, or nil.
func (t *table) add(kind, public reflect.Type) {
	if public != nil && public.Kind() == reflect.Pointer && kind.Kind() != reflect.Pointer {
		public = public.Elem()
	}
	switch kind.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		inner := public
		if public != nil && public.Kind() == kind.Kind() {
			inner = public.Elem()
		}
		t.add(kind.Elem(), inner)
	}
	if kind.Kind() == reflect.Map {
		t.add(kind.Key(), nil)
	}
	if kind.Kind() == reflect.Struct {
		t.addStruct(kind, public)
	} else if kind.Name() != "" && kind.Name() != kind.Kind().String() {
		t.named[kind.String()] = unnamed(kind)
	}
}

func (t *table) addStruct(kind, public reflect.Type) {
	name := kind.String()
	if slices.Contains(scalars, name) {
		return
	}
	if known, ok := t.structs[name]; ok {
		if len(known) != kind.NumField() {
			panic("two types " + name)
		}
		return
	}
	fields := make([][3]string, kind.NumField())
	t.structs[name] = fields
	for i := range fields {
		f := kind.Field(i)
		var counterpart *reflect.StructField
		var inner reflect.Type
		if public != nil && public.Kind() == reflect.Struct {
			if found, ok := public.FieldByName(f.Name); ok {
				counterpart, inner = &found, found.Type
			}
		}
		shown, wire := t.names(f, counterpart)
		fields[i] = [3]string{shown, wire, f.Type.String()}
		t.add(f.Type, inner)
	}
}

// unnamed returns the type under a type with a name of its own.
func unnamed(kind reflect.Type) string {
	switch kind.Kind() {
	case reflect.Map:
		return "map[" + kind.Key().String() + "]" + kind.Elem().String()
	case reflect.Slice:
		return "[]" + kind.Elem().String()
	}
	return kind.Kind().String()
}

func (t *table) print() {
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for _, name := range slices.Sorted(maps.Keys(t.named)) {
		out.Encode([]any{"name", name, t.named[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(t.structs)) {
		out.Encode([]any{"struct", name, t.structs[name]})
	}
}
