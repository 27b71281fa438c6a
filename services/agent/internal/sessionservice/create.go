package sessionservice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/clienttool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/conversation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// Locales are the languages of sessions. DefaultLocale is that of a session that names none.
var Locales = []string{DefaultLocale, "en"}

// DefaultLocale is the language of seed 001.
const DefaultLocale = "ja"

// Fresh is a session that somebody wants.
type Fresh struct {
	// Owner is empty or the name of the caller.
	Owner string `json:"-"`
	ledger.Settings
	Items     session.Items
	Refs      []string
	Continues string
	Budgets   ledger.Budgets `json:"budgets,omitzero"`
	// Declared are the tools that the caller carries out.
	Declared []clienttool.Declared
	// RequestID is a UUID, or empty.
	RequestID string `json:"-"`
}

// Create makes a session, or gives the one that the same request has made. *Violations, *ReusedError, *ledger.NotEndedError; *NotFoundError of the
// session that it continues.
func (s *Service) Create(ctx context.Context, w Who, f Fresh) (View, error) {
	if f.Locale == "" {
		f.Locale = DefaultLocale
	}
	asked, err := json.Marshal(f)
	if err != nil {
		return View{}, err
	}
	if err := s.Unfit(w, f); err != nil {
		return View{}, err
	}
	if f.Tools, err = clienttool.Definitions(f.Declared); err != nil {
		return View{}, err
	}
	id := s.idOf(w, f.RequestID, aSession)
	fresh := ledger.Fresh{ID: id, Owner: w.Name, Settings: f.Settings, Items: f.Items, Refs: f.Refs, Continues: f.Continues, Budgets: f.Budgets, Asked: canon.Sum(asked)}
	made, err := s.Ledger.Create(ctx, w.Namespace, fresh, w.Actor())
	switch {
	case errors.Is(err, store.ErrTaken):
		return s.again(ctx, w, fresh, f.RequestID)
	case err != nil:
		return View{}, found(aSession, f.Continues, err)
	}
	return s.View(ctx, w.Namespace, made)
}

// again gives the session that a request has made before, if it was the same request.
func (s *Service) again(ctx context.Context, w Who, f ledger.Fresh, request string) (View, error) {
	for row, err := range s.Ledger.Rows(ctx, w.Namespace, f.ID, 1) {
		if err != nil {
			return View{}, err
		}
		if row.Seq == 1 && row.ArgsDigest == string(f.Asked) {
			return s.Get(ctx, w, f.ID)
		}
		break
	}
	return View{}, &ReusedError{request}
}

// Unfit says what of a new session cannot be: *Violations. nil: it can.
func (s *Service) Unfit(w Who, f Fresh) error {
	bad := s.check(w, f)
	if _, err := clienttool.Definitions(f.Declared); err != nil {
		var fields *Violations
		if !errors.As(err, &fields) {
			return err
		}
		for _, v := range fields.Wrong {
			v.Field = strings.Replace(v.Field, "tools", "client_tools", 1)
			if strings.HasSuffix(v.Field, ".timeout") {
				v.Field += "_seconds"
			}
			bad = append(bad, v)
		}
	}
	if len(bad) > 0 {
		return &Violations{Wrong: bad}
	}
	return nil
}

func (s *Service) check(w Who, f Fresh) []session.Violation {
	all := slices.Concat(f.Items.Check(), session.CheckRefs(f.Refs, 0))
	if f.Owner != "" && f.Owner != w.Name {
		all = append(all, wrong("owner", "must be empty or who makes it, %.60q", w.Name))
	}
	if f.Root != "" {
		if _, err := s.Roots.Root(w.Namespace, f.Root); err != nil {
			all = append(all, wrong("root", "%s", err))
		}
	}
	if _, err := s.Models.Generator(f.Backend); err != nil {
		all = append(all, wrong("backend", "%s", err))
	}
	if f.Locale != "" && !slices.Contains(Locales, f.Locale) {
		all = append(all, wrong("locale", "must be ja or en, is %.40q", f.Locale))
	}
	all = append(all, s.budgets(f.Budgets)...)
	return append(all, s.choose(w, nil, policy.Choice{Policy: f.Policy, Added: f.Added})...)
}

// choose says what stands against a policy and what is added to it (S9). now is what the session has; nil: it is being made.
func (s *Service) choose(w Who, now *policy.Choice, want policy.Choice) (all []session.Violation) {
	for _, f := range policy.CheckAdded(want.Added) {
		field := "added_rules"
		if f.Index >= 0 {
			field = fmt.Sprintf("%s[%d]", field, f.Index)
		}
		if f.Field != "" {
			field += "." + f.Field
		}
		all = append(all, wrong(field, "%s", f.Problem))
	}
	was := now
	if now != nil {
		was = &policy.Choice{Policy: now.Policy}
	}
	if err := s.Policies.Choose(chooser(w), was, policy.Choice{Policy: want.Policy}); err != nil {
		all = append(all, wrong("policy", "%s", err))
	}
	if now == nil || len(all) > 0 {
		return all
	}
	if err := s.Policies.Choose(chooser(w), &policy.Choice{Policy: want.Policy, Added: now.Added}, want); err != nil {
		all = append(all, wrong("added_rules", "%s", err))
	}
	return all
}

// chooser is who wants a policy (S9).
func chooser(w Who) policy.Caller { return policy.Caller{Person: w.Session == "", Roles: w.Roles} }

// Delete takes away what a session says, when its turns are in its flow, and counts those that could not be put there and are lost. *NotFoundError,
// *etag.StaleError, *ledger.NotEndedError; conversation.ErrAway where flowstore does not answer, and then nothing was taken away.
func (s *Service) Delete(ctx context.Context, w Who, id, etag string) (lost int, err error) {
	err = s.Flows.Flush(ctx, w.Namespace, id)
	if errors.Is(err, conversation.ErrAway) || ctx.Err() != nil {
		return 0, err
	}
	// Whatever else keeps a turn from its flow, such as a text that cannot be read, would keep the session for ever.
	lost, err = s.Ledger.Delete(ctx, w.Namespace, id, etag, w.Actor())
	return lost, found(aSession, id, err)
}
