package client

import (
	"strings"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// Command is a command line of this program for the server at an address, to be typed as it is. by are the flags by which the caller shows a token.
func Command(addr string, by []string, words ...string) string {
	if addr != DefaultAddr {
		words = append(words, "--addr", addr)
	}
	words = append(words, by...)
	return "tsumugi " + strings.Join(words, " ")
}

// ID is the last part of a name, such as the id of `approvals/{uuid}`.
func ID(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// Decide is the command line that shows an approval and decides it; an outcome is told, and not approved. Without a token only the secret of
// approvers decides.
func Decide(addr, token string, by []string, a *agentv1.Approval) string {
	if token == "" {
		by = []string{"--approver"}
	}
	id := ID(a.GetName())
	words := []string{"approval", "approve", id}
	if a.GetKind() == agentv1.ApprovalKind_APPROVAL_KIND_OUTCOME {
		words = []string{"approval", "outcome", id, "happened|not-happened"}
	}
	return Command(addr, by, words...)
}
