// Prints internal Go types of kube-apiserver as JSON lines, for src/stretto/api/schema/data/internals.jsonl.
//
// A field consists of its name in JSON, which is its Go name unless it has a tag, of its name in the
// API, and of its type. Build it with the go.mod of src/stretto_lab/control_plane/modules/kubernetes.
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

var structs = map[string][][3]string{}
var named = map[string]string{}

func tag(f reflect.StructField) string {
	t, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return t
}
func walk(t, w reflect.Type) {
	if w != nil && w.Kind() == reflect.Ptr && t.Kind() != reflect.Ptr {
		w = w.Elem()
	}
	switch t.Kind() {
	case reflect.Ptr, reflect.Slice:
		var e reflect.Type
		if w != nil && w.Kind() == t.Kind() {
			e = w.Elem()
		} else {
			e = w
		}
		walk(t.Elem(), e)
	case reflect.Map:
		walk(t.Elem(), w.Elem())
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
	if n == "v1.ManagedFieldsEntry" || n == "v1.Time" || n == "resource.Quantity" || n == "intstr.IntOrString" || n == "v1.FieldsV1" || n == "runtime.RawExtension" {
		return
	}
	if _, ok := structs[n]; ok {
		return
	}
	structs[n] = nil
	fs := [][3]string{}
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		own := tag(f)
		wire := "?"
		var wt reflect.Type
		if w != nil && w.Kind() == reflect.Struct {
			if g, ok := w.FieldByName(f.Name); ok {
				wire = tag(g)
				wt = g.Type
			}
		}
		if wire == "?" { // a member of the spec of a pod that moved into its security context
			wire = strings.ToLower(f.Name[:1]) + f.Name[1:]
		}
		shown := f.Name
		if own != "" {
			shown = own
			if strings.Contains(f.Tag.Get("json"), "omitempty") {
				shown += ",omitempty"
			}
			if strings.Contains(f.Tag.Get("json"), "omitzero") {
				shown += ",omitzero"
			}
		}
		if f.Anonymous {
			shown = ""
		}
		fs = append(fs, [3]string{shown, wire, f.Type.String()})
		walk(f.Type, wt)
	}
	structs[n] = fs
}

func main() {
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
		walk(reflect.TypeOf(pair[0]), reflect.TypeOf(pair[1]))
	}
	e := json.NewEncoder(os.Stdout)
	e.SetEscapeHTML(false)
	for _, n := range slices.Sorted(maps.Keys(named)) {
		e.Encode([]any{"name", n, named[n]})
	}
	for _, n := range slices.Sorted(maps.Keys(structs)) {
		e.Encode([]any{"struct", n, structs[n]})
	}
}
