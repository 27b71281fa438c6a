package words

import "fmt"

// Offers are the messages that would decide about an approval, as they have to be written. Empty where there is none.
type Offers struct {
	// Approve and Deny name the approval. BareApprove and BareDeny are short for them where the situation allows that.
	Approve, Deny, BareApprove, BareDeny string
}

// Offer gives the words for an approval to a person who will write them: those of a locale (`ja`, else English) that Judge takes in this
// situation. Words are understood in both languages, whatever the locale.
func Offer(id string, s Situation, locale string) Offers {
	both, ok := forms[locale]
	if !ok {
		both = forms["en"]
	}
	taken := func(message string, want Decision) string {
		if j := Judge(message, s); j.Decision != want || j.ID != id {
			return ""
		}
		return message
	}
	approve, deny := both[0], both[1]
	return Offers{
		Approve: taken(approve.word+" "+id, approve.decision), Deny: taken(deny.word+" "+id, deny.decision),
		BareApprove: taken(approve.word, approve.decision), BareDeny: taken(deny.word, deny.decision),
	}
}

// texts are the sentences by locale. What stands in quotes is what has to be written.
var texts = map[string]struct{ both, bare, denyOnly, none string }{
	"en": {
		both:     "To approve, send exactly `%s`. To deny, send exactly `%s`. Anything else is an ordinary message.",
		bare:     "To approve, send exactly `%s` or `%s`. To deny, send exactly `%s` or `%s`. Anything else is an ordinary message.",
		denyOnly: "To deny, send exactly `%s`. It cannot be approved by words: look at all of it, and decide by the approval.",
		none:     "This cannot be decided by words: decide by the approval.",
	},
	"ja": {
		both:     "承認するには `%s`、拒否するには `%s` とだけ送ってください。それ以外は普通のメッセージとして扱います。",
		bare:     "承認するには `%s` または `%s`、拒否するには `%s` または `%s` とだけ送ってください。それ以外は普通のメッセージとして扱います。",
		denyOnly: "拒否するには `%s` とだけ送ってください。言葉では承認できません。内容をすべて確認し、承認画面で決めてください。",
		none:     "これは言葉では決められません。承認画面で決めてください。",
	},
}

// Sentence tells a person by which words an approval can be decided, in a locale (`ja`, else English). Each word in it, between
// backquotes, is one that Judge takes in this situation, and decides what the sentence says.
func Sentence(id string, s Situation, locale string) string {
	t, ok := texts[locale]
	if !ok {
		t = texts["en"]
	}
	switch o := Offer(id, s, locale); {
	case o.Approve != "" && o.BareApprove != "" && o.BareDeny != "":
		return fmt.Sprintf(t.bare, o.Approve, o.BareApprove, o.Deny, o.BareDeny)
	case o.Approve != "":
		return fmt.Sprintf(t.both, o.Approve, o.Deny)
	case o.Deny != "":
		return fmt.Sprintf(t.denyOnly, o.Deny)
	}
	return t.none
}
