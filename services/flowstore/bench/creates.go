package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
)

const (
	// writers is how many callers create nodes at once, createsPerRound how many they create in one round.
	writers         = 32
	createsPerRound = 3000
)

// creates measures durable creates over gRPC: flowstore as it runs in production, and a service that makes each node
// durable by itself, as a text file usually is (write, fsync, rename, fsync of the folder).
func creates(ctx context.Context, dir string) (row benchtable.Row, err error) {
	ours, err := startFlowstore(ctx, filepath.Join(dir, "flowstore"))
	if err != nil {
		return row, err
	}
	defer func() { err = errors.Join(err, ours.stop()) }()
	peer, err := startPeer(ctx, filepath.Join(dir, "peer"))
	if err != nil {
		return row, err
	}
	defer func() { err = errors.Join(err, peer.stop()) }()
	row = benchtable.Row{
		Ours: "durable creates, 32 writers, gRPC", Peer: "one fsync per file, gRPC", Unit: "per second", Goal: benchtable.AtLeast(4),
	}
	var written, floors []float64
	err = row.Measure(
		func() (float64, error) {
			rate, err := createAll(ctx, ours.client)
			if err != nil {
				return 0, err
			}
			all, err := flushRate(ctx, ours.client, rate)
			written = append(written, all)
			return rate, err
		},
		func() (float64, error) {
			floor, err := benchtable.BlockRate(filepath.Join(dir, "block"))
			floors = append(floors, floor)
			if err != nil {
				return 0, err
			}
			return createAll(ctx, peer.client)
		})
	if err != nil {
		return row, err
	}
	// The log counts its transactions, those of the gate that writes text files included. Each is one fsync of the
	// write-ahead log (TestOneFsyncForEachTransaction of commitlog counts the system calls).
	records, errRecords := ours.counter("tsumugi_flowstore_records_total")
	syncs, errSyncs := ours.counter("tsumugi_flowstore_log_syncs_total")
	perSync := benchtable.AtLeast(8)
	row.Facts = []benchtable.Fact{
		{Name: "records per fsync of the log", Figure: records / syncs, Goal: &perSync},
		{Name: "until all text files are there as well, per second", Figure: benchtable.Median(written)},
		{Name: "floor: one block overwritten and synced, per second", Figure: benchtable.Median(floors)},
	}
	return row, errors.Join(errRecords, errSyncs)
}

// createAll has the writers create nodes and gives the rate.
func createAll(ctx context.Context, client flowstorev1.FlowStoreServiceClient) (float64, error) {
	var next atomic.Int64
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for range writers {
		group.Go(func() error {
			for next.Add(1) <= createsPerRound {
				if _, err := client.CreateNode(ctx, &flowstorev1.CreateNodeRequest{Node: sample()}); err != nil {
					return fmt.Errorf("create a node: %w", err)
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return createsPerRound / time.Since(start).Seconds(), err
}

// flushRate writes the text files of a round and gives the rate at which nodes were created and written.
func flushRate(ctx context.Context, client flowstorev1.FlowStoreServiceClient, created float64) (float64, error) {
	start := time.Now()
	_, err := client.FlushStore(ctx, &flowstorev1.FlushStoreRequest{})
	return createsPerRound / (createsPerRound/created + time.Since(start).Seconds()), err
}
