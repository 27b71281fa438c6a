package transport

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/pagetoken"
)

// listRequest is a request for a list by creation.
type listRequest interface {
	GetPageSize() int32
	GetPageToken() string
	GetOrder() flowstorev1.ListOrder
	GetCreateTimeFrom() *timestamppb.Timestamp
	GetCreateTimeBefore() *timestamppb.Timestamp
	GetDeleted() bool
}

// list reads which page of a list is wanted. query is what page tokens are bound to: the call, its filter, and what all lists
// have.
func (f *fields) list(call string, filter any, req listRequest) (q library.ListQuery, query string, err error) {
	q = library.ListQuery{
		Order: f.order(req.GetOrder()), Made: f.made(req), Deleted: req.GetDeleted(), MaxItems: f.pageSize(req.GetPageSize()), MaxBytes: maxPageBytes,
	}
	if q.Deleted {
		f.trashOrder(req)
	}
	if err := f.Err(); err != nil {
		return q, "", err
	}
	query = fmt.Sprintf("%s %q %t %q", call, filter, q.Order, q.Made)
	if q.Deleted {
		query += " deleted" // Tokens of other lists are as they were.
	}
	key, err := pagetoken.Decode(req.GetPageToken(), query)
	if err == nil {
		q.After, err = toEntry(key)
	}
	if err != nil {
		return q, "", f.fault(err)
	}
	return q, query, nil
}

// trashOrder refuses what a list of the trash does not have.
func (f *fields) trashOrder(req listRequest) {
	for _, one := range []struct {
		field string
		given bool
	}{
		{"order", req.GetOrder() != flowstorev1.ListOrder_LIST_ORDER_UNSPECIFIED},
		{"create_time_from", req.GetCreateTimeFrom() != nil}, {"create_time_before", req.GetCreateTimeBefore() != nil},
	} {
		if one.given {
			f.Add(one.field, "must be left out where `deleted` asks for the trash, which is listed by the time of deletion")
		}
	}
}

// order reads an order.
func (f *fields) order(o flowstorev1.ListOrder) store.Order {
	switch o {
	case flowstorev1.ListOrder_LIST_ORDER_UNSPECIFIED, flowstorev1.ListOrder_LIST_ORDER_NEWEST_FIRST:
	case flowstorev1.ListOrder_LIST_ORDER_OLDEST_FIRST:
		return store.OldestFirst
	default:
		f.Add("order", "is %d; it must be LIST_ORDER_NEWEST_FIRST, LIST_ORDER_OLDEST_FIRST, or LIST_ORDER_UNSPECIFIED for the first", o)
	}
	return store.NewestFirst
}

// made reads when the items of a list were made.
func (f *fields) made(req listRequest) library.Span {
	s := library.Span{From: f.time("create_time_from", req.GetCreateTimeFrom()), Before: f.time("create_time_before", req.GetCreateTimeBefore())}
	if !s.From.IsZero() && !s.Before.IsZero() && !s.From.Before(s.Before) {
		f.Add("create_time_before", "must be later than create_time_from")
	}
	return s
}

// time reads a time; absent is zero.
func (f *fields) time(field string, t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	if t.CheckValid() != nil || t.AsTime().IsZero() {
		f.Add(field, "must be a time of the years 1 to 9999, later than the first of them begins")
		return time.Time{}
	}
	return t.AsTime()
}

// contains reads a part of a name.
func (f *fields) contains(field, text string) string {
	if len(text) > node.MaxLabel {
		f.Add(field, "has %d bytes; the limit is %d", len(text), node.MaxLabel)
	}
	return text
}

func entryKey(e store.Entry) string {
	if e == (store.Entry{}) {
		return ""
	}
	return fmt.Sprintf("%d %s", e.Created.UnixMicro(), e.ID)
}

func toEntry(key string) (e store.Entry, err error) {
	if key == "" {
		return e, nil
	}
	var micros int64
	var id string
	if _, err := fmt.Sscanf(key, "%d %s", &micros, &id); err != nil {
		return e, pagetoken.ErrMalformed
	}
	if e.ID, err = uuid.Parse(id); err != nil {
		return e, pagetoken.ErrMalformed
	}
	e.Created = time.UnixMicro(micros)
	return e, nil
}
