package flow

import "github.com/tsumugi-dev/tsumugi/services/internal/etag"

// Etag says which version of the flow this is: a hash of all that it holds, the time of its last change included. How its
// file is written is not in it (cases/flowstore.md 25); what a hand edits is, also where the time was left as it was
// (cases/flowstore.md 16). About 2 ms for 100,000 members.
func (f Flow) Etag() string {
	d := etag.New()
	d.Bytes(f.ID[:])
	d.Text(f.Name)
	d.Text(f.Description)
	d.Int(f.Created.UnixMicro())
	d.Int(f.Updated.UnixMicro())
	f.Story.digest(d)
	d.Int(int64(len(f.Members)))
	for _, m := range f.Members {
		d.Int(int64(m.Index))
		d.Bytes(m.Node[:])
	}
	d.Int(int64(len(f.Edges)))
	for _, e := range f.Edges {
		d.Int(int64(e.From))
		d.Int(int64(e.To))
		d.Text(e.Name)
	}
	d.Int(int64(f.Current))
	d.Int(int64(len(f.Heads)))
	for _, h := range f.Heads {
		d.Text(h.Name)
		d.Int(int64(h.Index))
	}
	d.Int(int64(len(f.Links)))
	for _, l := range f.Links {
		d.Int(int64(l.From))
		d.Bytes(l.Flow[:])
	}
	return d.String()
}

func (s Story) digest(d *etag.Digest) {
	for _, text := range []*string{s.Title, s.Synopsis, s.Setting, s.Plot, s.Note, s.DialogueLevel, s.Rating} {
		d.Optional(text)
	}
	d.Texts(s.Keywords)
	d.Texts(s.Genres)
}
