package files

import (
	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// takeLeftovers takes away what a process that was killed left of files that it was writing (filesys.Temporary). It is ours where the
// log still has what was being written, or where the file is made from others: the store would write over it the next time that it
// writes there, which a node that gets another place never does. Any other file of such a name is somebody's, and `flowstore check`
// tells of it.
func (sp *space) takeLeftovers() {
	if sp.copied {
		return
	}
	files := []string{tagsPath, nodeIndexPath, tombstonesName}
	for _, x := range sp.written.indexes {
		files = append(files, x.path())
	}
	for file := range sp.pending.behind() {
		files = append(files, file, trashPath(file))
	}
	taken := 0
	for _, file := range files {
		left := filesys.Temporary(file)
		if info, err := sp.tree.Stat(left); err != nil || !info.Mode.IsRegular() {
			continue
		}
		// One that cannot be taken away, or comes back with a power cut, is told by check; nothing else depends on it.
		if err := sp.tree.Remove(left); err != nil {
			sp.log.Warn("what a killed process left cannot be taken away", zap.String("path", left), zap.Error(err))
			continue
		}
		taken++
	}
	if taken > 0 {
		sp.log.Info("what a killed process left of files that it was writing was taken away", zap.Int("files", taken))
	}
}
