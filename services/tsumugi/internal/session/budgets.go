package session

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// SetBudget sets a budget of a session from NAME=NUMBER, where NAME is a field of Budgets, also with dashes, such as session-model-calls=40.
func SetBudget(s *agentv1.Session, text string) error {
	name, number, _ := strings.Cut(text, "=")
	if s.Budgets == nil {
		s.Budgets = &agentv1.Budgets{}
	}
	m := s.Budgets.ProtoReflect()
	field := m.Descriptor().Fields().ByName(protoreflect.Name(strings.ReplaceAll(name, "-", "_")))
	if field == nil {
		return fmt.Errorf("%.60q is no budget; they are %s", name, strings.Join(budgetNames(), ", "))
	}
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil {
		return fmt.Errorf("%s must be a whole number of at most %d, and is %.40q", name, math.MaxInt32, number)
	}
	m.Set(field, protoreflect.ValueOfInt32(int32(n)))
	return nil
}

func budgetNames() (all []string) {
	fields := (&agentv1.Budgets{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		all = append(all, strings.ReplaceAll(string(fields.Get(i).Name()), "_", "-"))
	}
	return all
}

// spentLines are what a session has spent, each with its budget where it has one.
func spentLines(s *agentv1.Session) (all []string) {
	spent, budgets := s.GetSpent().ProtoReflect(), s.GetBudgets().ProtoReflect()
	fields := budgets.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		used, most := spent.Get(spent.Descriptor().Fields().ByName(f.Name())).Int(), budgets.Get(f).Int()
		line := fmt.Sprintf("%s %d", strings.ReplaceAll(string(f.Name()), "_", " "), used)
		if most > 0 {
			line += fmt.Sprintf(" of %d", most)
		}
		if used > 0 || most > 0 {
			all = append(all, line)
		}
	}
	return all
}
