package benchtable

import (
	"errors"
	"os"
	"time"
)

// BlockRate is how often per second one block of 4 KiB is overwritten and synced: what the disk can do at all.
func BlockRate(name string) (rate float64, err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	block := make([]byte, 4096)
	if _, err := f.WriteAt(block, 0); err != nil {
		return 0, err
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	const times = 500
	start := time.Now()
	for i := range times {
		block[0] = byte(i)
		if _, err := f.WriteAt(block, 0); err != nil {
			return 0, err
		}
		if err := syncData(f); err != nil {
			return 0, err
		}
	}
	return times / time.Since(start).Seconds(), nil
}
