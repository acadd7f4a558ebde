package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/dump"
)

// printHashes reads templates from standard input, one per line, and prints the hash of each as
// kube-controller-manager computes it, without and with a collision count of 3.
func printHashes() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<20)
	for in.Scan() {
		var sent, received v1.PodTemplateSpec
		check(json.Unmarshal(in.Bytes(), &sent))
		raw, err := sent.Marshal() // a controller receives protobuf
		check(err)
		check(received.Unmarshal(raw))
		sum := fnv.New32a()
		fmt.Fprintf(sum, "%v", dump.ForHash(received))
		plain := rand.SafeEncodeString(fmt.Sprint(sum.Sum32()))
		count := make([]byte, 8)
		binary.LittleEndian.PutUint32(count, 3)
		sum.Write(count)
		fmt.Println(plain, rand.SafeEncodeString(fmt.Sprint(sum.Sum32())))
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
