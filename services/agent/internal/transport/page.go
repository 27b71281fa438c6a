package transport

import (
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/pagetoken"
)

// maxPage bounds a page, in things, and maxPageBytes in bytes of their messages; defaultPage is that of who names none.
const (
	maxPage      = store.MaxPage
	maxPageBytes = 4 << 20
	defaultPage  = 100
)

// room is what is left of a page.
type room struct {
	things, bytes int
	// taken says that something was, full that something had no place.
	taken, full bool
}

func newRoom(things int) *room { return &room{things: things, bytes: maxPageBytes} }

// takes says whether a thing has a place in the page, which it has then. The first one always has.
func (r *room) takes(m proto.Message) bool {
	r.things--
	r.bytes -= proto.Size(m)
	r.full = r.full || r.taken && (r.things < 0 || r.bytes < 0)
	r.taken = true
	return !r.full
}

// fromBroken is a record that cannot be read, in a list.
func fromBroken(name string, e *ledger.BrokenError) *agentv1.BrokenRecord {
	return &agentv1.BrokenRecord{Name: name, Problem: e.Error()}
}

func pageSize(f *apierr.Fields, given int32) int {
	switch {
	case given < 0:
		f.Add("page_size", "is %d; it must be 0 or more", given)
	case given == 0:
		return defaultPage
	}
	return int(min(given, maxPage))
}

// place reads where a page begins; query is every field that decides what is listed.
func place(f *apierr.Fields, token, query string) (p store.Place) {
	key, err := pagetoken.Decode(token, query)
	if err != nil {
		f.Add("page_token", "%s", err)
		return p
	}
	at, id, ok := strings.Cut(key, " ")
	micros, err := strconv.ParseInt(at, 10, 64)
	if key != "" && (!ok || err != nil) {
		f.Add("page_token", "%s", pagetoken.ErrMalformed)
	}
	if key != "" {
		p = store.Place{At: time.UnixMicro(micros).UTC(), ID: id}
	}
	return p
}

func nextPage(query string, at time.Time, id string) string {
	return pagetoken.Encode(query, strconv.FormatInt(at.UnixMicro(), 10)+" "+id)
}
