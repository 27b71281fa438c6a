package main

import (
	"strings"
	"testing"
)

// A word in back-quotes in a usage text is taken for what the flag's value is called, and shown as if it were to be typed.
func TestHelpNamesValuesByTheirKind(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(writeCommand().Flags().FlagUsages()) {
		flag := strings.Fields(line)
		if kind := flag[1]; flag[0] != "--yes" && flag[0] != "--neutralize" && flag[0] != "--approver" && kind != "string" && kind != "int" {
			t.Errorf("the value of %s is called %q", flag[0], kind)
		}
	}
}
