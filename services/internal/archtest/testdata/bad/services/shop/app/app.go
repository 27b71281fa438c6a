// Package app knows another service, and test code.
package app

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"testing"

	_ "github.com/tsumugi-dev/tsumugi/services/bakery/app"
	_ "github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func run(t *testing.T) {
	fmt.Println("hello")
	log.Fatal("no")
	os.Exit(1)
	http.Get("http://x")
}
