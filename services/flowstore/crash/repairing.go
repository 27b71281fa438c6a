package main

import (
	"context"
	"errors"
	"io"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// repairStore mends what there is to mend, which changes nothing of what the ledger holds. It is drawn seldom: it looks twice at what may be
// on its way, a second apart.
func repairStore(d drawing) *operation {
	if d.random.IntN(16) > 0 {
		return nil
	}
	return &operation{ask: func(ctx context.Context, c client) (string, error) {
		stream, err := c.RepairStore(ctx, &flowstorev1.RepairStoreRequest{Apply: true})
		for err == nil {
			_, err = stream.Recv()
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return "", err
	}}
}
