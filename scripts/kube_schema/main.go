// Prints the Go types of the Kubernetes API as JSON: fields, pointers, omission and patch tags.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"

	apiext "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apireg "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

type field struct {
	Name   string `json:"n"`
	Type   string `json:"t"`
	Ptr    bool   `json:"p,omitempty"`
	Omit   string `json:"o,omitempty"`
	Strat  string `json:"ps,omitempty"`
	Key    string `json:"pk,omitempty"`
	GoType string `json:"g"`
	// Number of the field in protobuf messages.
	Proto string `json:"b,omitempty"`
}
type out struct {
	Types map[string][]field `json:"types"`
	Kinds map[string]string  `json:"kinds"`
}

var special = map[string]string{
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time": "time", "k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime": "micro",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration": "duration", "k8s.io/apimachinery/pkg/api/resource.Quantity": "quantity",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString": "intstr", "k8s.io/apimachinery/pkg/runtime.RawExtension": "raw",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":                                         "fields",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON":                         "json",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrBool":        "schemaorbool",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrArray":       "schemaorarray",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrStringArray": "schemaorstrings",
	"k8s.io/apimachinery/pkg/runtime.Object":                                                "raw",
}
var o = out{map[string][]field{}, map[string]string{}}

func name(t reflect.Type) string {
	p := t.PkgPath()
	p = strings.TrimPrefix(p, "k8s.io/api/")
	p = strings.TrimPrefix(p, "k8s.io/apimachinery/pkg/apis/")
	p = strings.TrimPrefix(p, "k8s.io/apiextensions-apiserver/pkg/apis/")
	p = strings.TrimPrefix(p, "k8s.io/kube-aggregator/pkg/apis/")
	return p + "." + t.Name()
}
func expr(t reflect.Type) string {
	full := t.PkgPath() + "." + t.Name()
	if s, ok := special[full]; ok {
		return s
	}
	switch t.Kind() {
	case reflect.Ptr:
		return expr(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[]" + expr(t.Elem())
	case reflect.Map:
		return "{}" + expr(t.Elem())
	case reflect.Struct:
		walk(t)
		return "." + name(t)
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int32:
		return "int32"
	case reflect.Int64, reflect.Int:
		return "int64"
	case reflect.Float64:
		return "double"
	case reflect.Uint8:
		return "uint8"
	case reflect.Interface:
		return "raw"
	}
	panic(full)
}

// proto is the wire type and the number of a field.
func proto(f reflect.StructField) string {
	parts := strings.Split(f.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}

func fields(t reflect.Type) (fs []field) {
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag := strings.Split(f.Tag.Get("json"), ",")
		if tag[0] == "-" || f.PkgPath != "" && !f.Anonymous {
			continue
		}
		if f.Anonymous && tag[0] == "" {
			ft := f.Type
			if ft.Kind() == reflect.Ptr {
				ft = ft.Elem()
			}
			inner := fields(ft)
			n := proto(f)
			if n == "" && ft.Name() == "TypeMeta" {
				for i := range inner {
					inner[i].Proto = ""
				}
			}
			if n != "" {
				for i := range inner {
					inner[i].Proto = n + "." + inner[i].Proto
				}
			}
			fs = append(fs, inner...)
			continue
		}
		om := ""
		for _, x := range tag[1:] {
			if x == "omitempty" {
				om += "e"
			}
			if x == "omitzero" {
				om += "z"
			}
		}
		fs = append(fs, field{tag[0], expr(f.Type), f.Type.Kind() == reflect.Ptr, om, f.Tag.Get("patchStrategy"), f.Tag.Get("patchMergeKey"), f.Type.String(), proto(f)})
	}
	return
}
func walk(t reflect.Type) {
	n := name(t)
	if _, ok := o.Types[n]; ok {
		return
	}
	o.Types[n] = nil
	o.Types[n] = fields(t)
}
func main() {
	s := scheme.Scheme
	apiext.AddToScheme(s)
	apireg.AddToScheme(s)
	for gvk, t := range s.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal || strings.HasSuffix(gvk.Kind, "List") && gvk.Kind != "List" {
			continue
		}
		if gvk.Kind == "WatchEvent" || strings.HasSuffix(gvk.Kind, "Options") && gvk.Kind != "DeleteOptions" {
			continue
		}
		walk(t)
		o.Kinds[gvk.Group+"/"+gvk.Version+"/"+gvk.Kind] = name(t)
	}
	walk(reflect.TypeOf(metav1.Status{}))
	json.NewEncoder(os.Stdout).Encode(o)
}
