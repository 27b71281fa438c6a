// Package e2e holds the scenarios: what a user does with Tsumugi and what goes wrong meanwhile, over gRPC and REST,
// against a real llama.cpp server with a small real model.
//
// Every scenario runs twice, at the same time: with all services in one process, which is the test process, so that the
// race detector sees them, and with four programs that are built for the test. A scenario is a function that opens a world
// of its own, a running Tsumugi with an empty data folder, and does there what a client would do. The list is in
// scenarios_test.go.
package e2e
