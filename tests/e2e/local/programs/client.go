// The Go client over an API server: it prints what it saw as one line of JSON.
package main

import (
	"context"
	"encoding/json"
	stderrors "errors"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	namespace = "go-client"
	selector  = "of=" + namespace
)

var ctx = context.Background()

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func configMap(name string, data map[string]string) *v1.ConfigMap {
	labels := map[string]string{"of": namespace}
	return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Data: data}
}

func names(api typed.ConfigMapInterface) (found []string) {
	options := metav1.ListOptions{LabelSelector: selector, Limit: 2}
	for {
		page, err := api.List(ctx, options)
		check(err)
		for _, each := range page.Items {
			found = append(found, each.Name)
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return found
		}
	}
}

func firstChange(api typed.ConfigMapInterface, version string) []string {
	seconds := int64(20)
	stream, err := api.Watch(ctx, metav1.ListOptions{
		LabelSelector: selector, ResourceVersion: version, TimeoutSeconds: &seconds})
	check(err)
	defer stream.Stop()
	event := <-stream.ResultChan()
	return []string{string(event.Type), event.Object.(*v1.ConfigMap).Name}
}

func status(err error) int {
	var answer errors.APIStatus
	if stderrors.As(err, &answer) {
		return int(answer.Status().Code)
	}
	check(err)
	return 200
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	check(err)
	client, err := kubernetes.NewForConfig(config)
	check(err)
	space := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	_, err = client.CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{})
	check(err)
	api := client.CoreV1().ConfigMaps(namespace)
	for _, name := range []string{"a", "b", "c"} {
		_, err = api.Create(ctx, configMap(name, map[string]string{"key": "1"}), metav1.CreateOptions{})
		check(err)
	}
	listed := names(api)
	all, err := api.List(ctx, metav1.ListOptions{})
	check(err)
	patch := []byte(`{"data":{"key":"2"}}`)
	patched, err := api.Patch(ctx, "a", types.MergePatchType, patch, metav1.PatchOptions{})
	check(err)
	_, err = api.Create(ctx, configMap("d", nil), metav1.CreateOptions{})
	check(err)
	watched := [][]string{firstChange(api, all.ResourceVersion), firstChange(api, patched.ResourceVersion)}
	applied := []int{}
	for _, each := range [][]string{{"one", "3"}, {"two", "4"}, {"one", "5"}} {
		wanted := apply.ConfigMap("b", namespace).WithData(map[string]string{"applied": each[1]})
		_, err = api.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: each[0]})
		applied = append(applied, status(err))
	}
	check(api.Delete(ctx, "a", metav1.DeleteOptions{}))
	_, err = api.Get(ctx, "a", metav1.GetOptions{})
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"listed": listed, "watched": watched, "patched": patched.Data["key"],
		"applied": applied, "gone": status(err)}))
}
