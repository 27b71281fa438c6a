package price

import (
	"fmt"
	"os"
	"testing"
	"time"

	_ "github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestLong(t *testing.T) {
	fmt.Println(time.Now(), os.Args)
}
