package sysprompt

// DiffReason is why two builds go apart.
type DiffReason string

// The reasons.
const (
	DiffContent DiffReason = "content"
	DiffAdded   DiffReason = "added"
	DiffRemoved DiffReason = "removed"
	DiffMoved   DiffReason = "moved"
)

// Diff compares a build with an earlier one.
type Diff struct {
	// Section and Part are where they go apart first, Reason why; empty where they are equal.
	Section, Part string
	Reason        DiffReason
	// Prefix is how many bytes at the beginning are equal; Exact says that all were compared.
	Prefix int
	Exact  bool
	// Permille is Prefix in thousandths of the build, rounded down.
	Permille     int
	OtherVersion bool
}

// compare tells where a prompt and an earlier one go apart.
func compare(p Prompt, old Previous) *Diff {
	d := &Diff{OtherVersion: old.Version != "" && old.Version != Version}
	i := 0
	for i < min(len(p.Sections), len(old.Sections)) && p.Sections[i].same(old.Sections[i]) {
		i++
	}
	d.apart(p.Sections, old.Sections, i)
	if i > 0 {
		d.Prefix = p.Sections[i-1].End
	}
	if d.Reason == DiffContent {
		d.part(p.Sections[i], old.Sections[i])
	}
	if old.Text != "" {
		d.Exact = true
		for d.Prefix = 0; d.Prefix < min(len(p.Text), len(old.Text)) && p.Text[d.Prefix] == old.Text[d.Prefix]; {
			d.Prefix++
		}
	} else if d.Reason == "" {
		d.Exact = true
	}
	if len(p.Text) > 0 {
		d.Permille = 1000 * d.Prefix / len(p.Text)
	}
	return d
}

func (s Section) same(other Section) bool { return s.ID == other.ID && s.Digest == other.Digest }

// apart says why two lists of sections go apart at a place.
func (d *Diff) apart(now, old []Section, i int) {
	switch {
	case i == len(now) && i == len(old):
	case i == len(now):
		d.Section, d.Reason = old[i].ID, DiffRemoved
	case i == len(old):
		d.Section, d.Reason = now[i].ID, DiffAdded
	case now[i].ID == old[i].ID:
		d.Section, d.Reason = now[i].ID, DiffContent
	case !has(old, now[i].ID):
		d.Section, d.Reason = now[i].ID, DiffAdded
	case !has(now, old[i].ID):
		d.Section, d.Reason = old[i].ID, DiffRemoved
	default:
		d.Section, d.Reason = now[i].ID, DiffMoved
	}
}

func has(sections []Section, id string) bool {
	for _, s := range sections {
		if s.ID == id {
			return true
		}
	}
	return false
}

// part finds the first part in which a section differs, and where the one before it ends. The text before the parts of the
// context may differ too, so that its parts say nothing of the bytes at the beginning; before other parts it is always the same.
func (d *Diff) part(now, old Section) {
	for i, p := range now.Parts {
		if i == len(old.Parts) || old.Parts[i].ID != p.ID || old.Parts[i].Digest != p.Digest {
			d.Part = p.ID
			return
		}
		if now.ID != idContext {
			d.Prefix = p.End
		}
	}
	if n := len(now.Parts); n < len(old.Parts) {
		d.Part = old.Parts[n].ID
	}
}
