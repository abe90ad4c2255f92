package mapping_test

import (
	"fmt"

	"github.com/sandboxfs/sandboxfs/mapping"
)

func ExampleTable_Lookup() {
	layout := mapping.Layout{Home: "/srv/sandboxfs"}
	table, err := layout.Table(mapping.Key{User: "alice", Thread: "t1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	region, rest, ok := table.Lookup("/mnt/user-data/uploads/2024/data.csv")
	fmt.Println(region.Virtual, rest, region.Access(mapping.AgentView), ok)
	_, _, ok = table.Lookup("/etc/passwd")
	fmt.Println(ok)
	// Output:
	// /mnt/user-data/uploads 2024/data.csv ro true
	// false
}

func ExampleValidateID() {
	fmt.Println(mapping.ValidateID("thread", "../x"))
	// Output:
	// the thread id "../x" has a character other than letters, digits, '_' and '-'
}
