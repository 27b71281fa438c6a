package files

import "testing"

// The default data folder is a relative one; it stays where it was when the process goes elsewhere.
func TestARelativeDataFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	s, err := Open(Options{Data: "./data/flowstore", Gate: byHand})
	if err != nil {
		t.Fatal(err)
	}
	u := newUser(s)
	t.Chdir(t.TempDir())
	must(t, u.createFlow("novel"))
	must(t, u.finds(s))
	must(t, s.Close())
}
