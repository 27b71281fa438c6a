package backends_test

import (
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
)

func ExampleParse() {
	set, err := backends.Parse([]byte(`
default: novel
backends:
  novel: {kind: llamacpp, address: http://127.0.0.1:8080}
  big: {kind: llamacpp, address: http://gpu:8080, timeouts: {first_byte: 30m}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(set.Names(), set.Default())
	_, err = set.Counter("small")
	fmt.Println(err)
	// Output:
	// [big novel] novel
	// there is no backend "small"; the backends file has: big, novel
}
