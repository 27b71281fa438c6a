package pagetoken

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestThereAndBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		query, key := rapid.String().Draw(t, "query"), rapid.StringN(1, 50, 200).Draw(t, "key")
		if got, err := Decode(Encode(query, key), query); err != nil || got != key {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func TestFirstAndLastPage(t *testing.T) {
	t.Parallel()
	if key, err := Decode("", "q"); key != "" || err != nil {
		t.Errorf("first page: %q, %v", key, err)
	}
	if token := Encode("q", ""); token != "" {
		t.Errorf("last page: %q", token)
	}
}

// cases-gostyle 29: a token used with other filters, and a token edited by one character.
func TestRefused(t *testing.T) {
	t.Parallel()
	token := Encode("tags=a", "nodes/7")
	if _, err := Decode(token, "tags=b"); !errors.Is(err, ErrOtherQuery) {
		t.Errorf("other query: %v", err)
	}
	for i := range token {
		for _, c := range "AB_" {
			edited := token[:i] + string(c) + token[i+1:]
			if edited == token {
				continue
			}
			if _, err := Decode(edited, "tags=a"); !errors.Is(err, ErrMalformed) {
				t.Errorf("edited at %d: %v", i, err)
			}
		}
	}
	for _, bad := range []string{"x", "====", token + "A", token[:len(token)-1], strings.Repeat("A", 10_000), "\x00", "次"} {
		if _, err := Decode(bad, "tags=a"); !errors.Is(err, ErrMalformed) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Encode("q", "k"), "q")
	f.Add(Encode("q", "k"), "other")
	f.Add("", "")
	f.Add("AQ", "q")
	f.Fuzz(func(t *testing.T, token, query string) {
		key, err := Decode(token, query)
		if err == nil && Encode(query, key) != token {
			t.Errorf("%q is taken for %q", token, Encode(query, key))
		}
	})
}

func Example() {
	const query = "flow=flows/1 node=nodes/9" // every field but page_size
	token := Encode(query, "nodes/4")
	fmt.Println(Decode(token, query))
	fmt.Println(Decode(token, "flow=flows/2 node=nodes/9"))
	// Output:
	// nodes/4 <nil>
	//  the page token belongs to another query: leave the other fields as they were, or begin anew without it
}
