package files

import "time"

// Own takes a data folder for a tool that works on its files while no store is open; release lets go of it. *LockedError
// while another process has it.
func Own(data string) (release func() error, err error) {
	lock, err := own(data, time.Now())
	if err != nil {
		return nil, err
	}
	return lock.Unlock, nil
}
