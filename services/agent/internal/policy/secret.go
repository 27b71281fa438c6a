package policy

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Bounds of the search for secrets.
const (
	// maxSearched is how much of a call is searched, in bytes; the work grows with it, and no faster (regexp never goes back).
	maxSearched = 4 << 20
	// maxFound is how many places are told of one shape in one text.
	maxFound = 20
)

// Shape is a pattern of secrets.
type Shape struct {
	// Name is told where one is found; what was found never is.
	Name string `json:"name"`
	// Pattern is a regular expression in the syntax of RE2.
	Pattern string `json:"pattern"`
	// Literals are texts one of which stands in all of what the pattern fits, in lower case. The pattern is tried on the lines that
	// have one, which saves most of the work. None: it is tried on all of the text.
	Literals []string `json:"literals,omitempty"`
}

// known are the shapes of keys and tokens whose owners gave them a mark of their own, and of passwords that stand beside their
// name.
var known = []Shape{
	{"private_key", `-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----`, []string{"private key"}},
	{"age_key", `AGE-SECRET-KEY-1[0-9A-Z]{58}`, []string{"age-secret-key-1"}},
	{"putty_key", `PuTTY-User-Key-File-[23]:`, []string{"putty-user-key-file-"}},
	{"aws_access_key", `\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`, []string{"akia", "asia"}},
	{"github_token", `\bgh[pousr]_[0-9A-Za-z]{36}`, []string{"gh"}},
	{"github_pat", `\bgithub_pat_[0-9A-Za-z_]{22}`, []string{"github_pat_"}},
	{"gitlab_token", `\bglpat-[0-9A-Za-z_-]{20}`, []string{"glpat-"}},
	{"slack_token", `\bxox[abeoprs]-[0-9A-Za-z-]{10}`, []string{"xox"}},
	{"google_api_key", `\bAIza[0-9A-Za-z_-]{35}`, []string{"aiza"}},
	{"stripe_key", `\b[rs]k_live_[0-9A-Za-z]{16}`, []string{"k_live_"}},
	{"openai_key", `\bsk-(?:proj-|svcacct-|admin-)?[0-9A-Za-z_-]{32}`, []string{"sk-"}},
	{"anthropic_key", `\bsk-ant-[0-9A-Za-z_-]{24}`, []string{"sk-ant-"}},
	{"npm_token", `\bnpm_[0-9A-Za-z]{36}`, []string{"npm_"}},
	{"pypi_token", `\bpypi-AgE[0-9A-Za-z_-]{32}`, []string{"pypi-age"}},
	{"huggingface_token", `\bhf_[0-9A-Za-z]{30}`, []string{"hf_"}},
	{"tsumugi_token", `\btsumugi_[0-9A-Za-z-]{4,64}_[0-9A-Za-z_-]{32}`, []string{"tsumugi_"}},
	{"json_web_token", `\beyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{10}`, []string{"eyj"}},
	{"password_in_url", `\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@"']{1,64}:[^\s/:@"']{3,}@`, []string{"://"}},
	{"password", `(?i)(?:password|passwd|パスワード|secret|api[_-]?key|access[_-]?token|auth[_-]?token)["']?\s*[:=：]\s*["'][^"'\s]{8,}["']`, []string{"passw", "パスワード", "secret", "api_key", "api-key", "apikey", "token"}},
	{"secret_in_environment", `(?m)^[+\-\s]*(?:export\s+)?[A-Z0-9_]*(?:PASSWORD|PASSWD|SECRET|TOKEN|API_KEY)[A-Z0-9_]*=[^\s"'$]{8,}`, []string{"passw", "secret", "token", "api_key"}},
}

type shape struct {
	Shape
	re *regexp.Regexp
}

// knownShapes are those of known. They are part of the program: one that did not compile would be found by the first test.
var knownShapes = sync.OnceValue(func() []shape {
	out, err := ready(known)
	if err != nil {
		panic(err)
	}
	return out
})

// ready compiles shapes.
func ready(shapes []Shape) ([]shape, error) {
	out := make([]shape, len(shapes))
	for i, s := range shapes {
		re, err := regexp.Compile(s.Pattern)
		if err != nil {
			return nil, err
		}
		out[i] = shape{s, re}
	}
	return out, nil
}

// piece is a text that is searched, and where it stands.
type piece struct{ where, text string }

// search looks for secrets in the arguments and the diff of a call. Each shape is told once for each place, with how many there
// are. whole is false where there was more to search than maxSearched, or arguments that cannot be read.
func (e *Engine) search(f Facts) (found []Reason, whole bool) {
	var pieces []piece
	whole = true
	if len(f.Args) > 0 {
		var args any
		if err := json.Unmarshal(f.Args, &args); err != nil {
			pieces, whole = append(pieces, piece{"args", string(f.Args)}), false
		} else {
			pieces = texts(args, "", pieces)
		}
	}
	pieces = append(pieces, piece{"diff", f.Diff})
	left := maxSearched
	for _, p := range pieces {
		if len(p.text) > left {
			p.text, whole = p.text[:left], false
		}
		left -= len(p.text)
		lower := lowerASCII(p.text)
		for _, s := range e.shapes {
			if n := s.count(p.text, lower); n > 0 {
				found = append(found, Reason{Code: CodeSecret, Level: High, What: s.Name, Where: p.where, Number: int64(n)})
			}
		}
	}
	return found, whole
}

// count says how often the shape is found, up to maxFound. lower is the text in lower case, byte for byte.
func (s shape) count(text, lower string) (n int) {
	if len(s.Literals) == 0 {
		return len(s.re.FindAllStringIndex(text, maxFound))
	}
	has := func(text string) bool {
		return slices.ContainsFunc(s.Literals, func(l string) bool { return strings.Contains(text, l) })
	}
	if !has(lower) {
		return 0
	}
	at := 0
	for line := range strings.Lines(lower) {
		if has(line) {
			n += len(s.re.FindAllStringIndex(text[at:at+len(line)], maxFound))
		}
		if at += len(line); n >= maxFound {
			break
		}
	}
	return min(n, maxFound)
}

func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}

// texts collects the strings of a value, keys among them, each under its path.
func texts(v any, path string, out []piece) []piece {
	switch v := v.(type) {
	case string:
		return append(out, piece{path, v})
	case []any:
		for i, item := range v {
			out = texts(item, path+"["+strconv.Itoa(i)+"]", out)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			at := k
			if path != "" {
				at = path + "." + k
			}
			out = texts(v[k], at, append(out, piece{path, k}))
		}
	}
	return out
}
