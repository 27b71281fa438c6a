package main

import (
	"strings"
	"time"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// sample is a node of about 4 KB: a prompt and an answer, half Japanese and half English, and three tags.
func sample() *flowstorev1.Node {
	return &flowstorev1.Node{
		Model: "gemma-2-2b-jpn-it", Tags: []string{"夜", "駅", "draft"},
		Texts: []*flowstorev1.Text{{Role: "user", Content: prompt}, {Role: "assistant", Content: answer}},
	}
}

var (
	prompt = strings.Repeat("夜明け前の駅で、彼女は古い切符を拾い上げた。", 14) + strings.Repeat("She waited for the first train of the day. ", 22)
	answer = strings.Repeat("風が止むと、遠くで汽笛が鳴った。", 20) + strings.Repeat("Nobody else had come to the platform. ", 26)
)

// sampleNode is the same node without gRPC.
func sampleNode() node.Node {
	return node.Node{
		Created: time.Now(), Model: "gemma-2-2b-jpn-it", Tags: []string{"夜", "駅", "draft"}, Summary: node.Summary{Stale: true},
		Texts: []node.Text{{Role: "user", Content: prompt}, {Role: "assistant", Content: answer}},
	}
}

func sampleSize() int { return len(format.EncodeNode(sampleNode())) }
