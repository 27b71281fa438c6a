package archtest

// importRule says what some packages may not import. In its patterns SERVICE is the importing package's own service,
// ADAPTER its own adapter.
type importRule struct {
	name string
	// from are the packages that the rule is for, without those of except.
	from, except []string
	// deny are the imports that are refused, without those of allow.
	deny, allow []string
	// only, where set, refuses everything but the standard library and these.
	only []string
	// tests says that the rule is for test files too.
	tests bool
	why   string
}

// Layers of a service.
var (
	outer = []string{
		"services/*/internal/transport/...", "services/*/internal/store/...", "services/*/internal/adapter/...",
		"services/*/internal/command/...",              // the command line of a program: it wires, as app does
		"services/gateway/...", "services/tsumugi/...", // they own nothing: they are transport as a whole
	}
	domain = []string{"services/*/internal/..."}
	// shared is what adapters and transport have in common: how values look in the contracts, and what the error of a
	// service that was called means. No driver.
	shared = []string{"services/*/internal/adapter/wire", "services/*/internal/adapter/downstream"}
	// impure are the parts of the standard library that reach out of the process or are not the same twice.
	impure  = []string{"os", "os/...", "net", "net/...", "log", "log/...", "syscall", "math/rand/...", "crypto/rand", "database/...", "testing"}
	engines = []string{"services/SERVICE/internal/store/*/..."}
)

var importRules = []importRule{
	{
		name: "domain libraries", from: domain, except: outer,
		only: []string{
			"services/SERVICE/internal/...", "services/internal/llm", "services/internal/sampling", "services/internal/etag", "services/internal/passage",
			"github.com/google/uuid", "github.com/rivo/uniseg", "golang.org/x/text/...", "github.com/aymanbagabas/go-udiff", "github.com/aymanbagabas/go-udiff/lcs", "github.com/RoaringBitmap/roaring/v2",
			"github.com/google/jsonschema-go/jsonschema",
		},
		why: "the domain is plain Go: it must be testable and readable without proto, grpc, zap or a driver",
	},
	{
		// What makes data for tests makes the same from the same seed.
		name: "domain purity", from: domain, except: append([]string{"services/*/internal/*/*test"}, outer...), deny: impure,
		why: "the domain takes what it needs as values or small interfaces; then the same request gives the same bytes",
	},
	{
		name: "domain direction", from: domain, except: outer,
		deny: append([]string{"services/SERVICE/internal/transport/...", "services/SERVICE/internal/adapter/...", "services/SERVICE/app"}, engines...),
		why:  "data runs one way, cmd -> app -> transport -> domain -> (interface) <- adapter, store: the domain calls nobody outside of it",
	},
	{
		name: "store port", from: []string{"services/*/internal/store"}, deny: append(append([]string{"services/SERVICE/internal/transport/...", "services/SERVICE/internal/adapter/..."}, engines...), impure...),
		why: "the port is what every engine has to fulfil, and knows none of them",
	},
	{
		name: "store engines", from: []string{"services/*/internal/store/*/..."},
		deny: []string{"services/SERVICE/internal/transport/...", "services/SERVICE/internal/adapter/...", "services/SERVICE/app", "gen/...", "google.golang.org/grpc/..."},
		why:  "an engine keeps domain values; proto as a storage format ties the disk to the wire (field/gostyle.md 1.4)",
	},
	{
		name: "transport", from: []string{"services/*/internal/transport/..."},
		deny:  append([]string{"services/SERVICE/internal/adapter/...", "services/SERVICE/app", "services/internal/llm/*/...", "services/internal/yamlx", "os", "os/...", "database/..."}, engines...),
		allow: shared,
		why:   "a handler is proto -> domain, one call, domain -> proto: it must not know which engine or driver is behind",
	},
	{
		name: "adapters", from: []string{"services/*/internal/adapter/..."},
		deny: []string{"services/SERVICE/internal/transport/...", "services/SERVICE/internal/adapter/...", "services/SERVICE/app"},
		// Each adapter that starts programs starts them under a keeper.
		allow: append([]string{"services/SERVICE/internal/adapter/ADAPTER/...", "services/agent/internal/adapter/keeper"}, shared...),
		why:   "an adapter stands behind one interface of the domain, so that it can be replaced alone",
	},
	{
		name: "services apart", from: []string{"services/*/..."}, except: []string{"services/internal/...", "services/tsumugi/..."},
		deny: []string{"services/*/..."}, allow: []string{"services/SERVICE/...", "services/internal/..."}, tests: true,
		why: "services know each other by their contract in proto alone; only services/tsumugi puts them into one process",
	},
	{
		name: "all in one", from: []string{"services/tsumugi/..."},
		deny: []string{"services/*/..."}, allow: []string{"services/*/app", "services/tsumugi/...", "services/internal/..."}, tests: true,
		why: "app is the only package of a service that others import",
	},
	{
		name: "programs", from: []string{"services/*/cmd/..."}, except: []string{"services/tsumugi/..."},
		deny: []string{"services/SERVICE/internal/..."}, allow: []string{"services/SERVICE/internal/command"},
		why: "a program is one line over app, or over its command line: what is wired there is wired in one process too",
	},
	{
		// A request, a preset and a record have one message of sampling in common: what it says is mapped in one place.
		name: "the house", from: []string{"services/internal/..."}, except: []string{"services/internal/sampling/wire"}, deny: []string{"services/*/...", "gen/..."}, allow: []string{"services/internal/..."},
		why: "services/internal is what every service needs and none owns: it speaks no service's words",
	},
	{
		name: "generated code", from: []string{"gen/..."}, deny: []string{"services/..."},
		why: "the contract depends on nobody",
	},
	{
		name: "model servers", from: []string{"services/..."}, deny: []string{"services/internal/llm/..."}, tests: true,
		except: []string{
			"services/internal/llm/...", "services/internal/modelerr", "services/internal/localmodel/...", "services/internal/testkit",
			"services/promptbuilder/...", "services/agent/...", "services/tsumugi/...",
		},
		why: "only promptbuilder counts and only agent generates",
	},
	{
		name: "llm is plain", from: []string{"services/internal/llm", "services/internal/sampling", "services/internal/passage"},
		only: []string{"services/internal/llm", "services/internal/sampling", "github.com/rivo/uniseg"}, deny: []string{"os", "os/...", "net", "net/..."},
		why: "domains know model servers, sampling and the texts of prompts by these packages, so they hold values and interfaces only",
	},
	{
		name: "kinds of model servers", from: kinds, deny: kinds,
		why: "a kind can be taken away alone; what two of them share is a package of its own",
	},
	{
		name: "one YAML", from: []string{"..."}, except: []string{"services/internal/yamlx"}, tests: true,
		deny: []string{"gopkg.in/yaml.v3", "go.yaml.in/...", "sigs.k8s.io/yaml"},
		why:  "yaml.v3 takes minutes for a large mapping and drops unknown keys in silence; yamlx does neither",
	},
	{
		name: "who calls whom", from: []string{"services/promptbuilder/..."},
		deny: []string{"services/internal/grpcclient", "gen/tsumugi/agent/...", "gen/tsumugi/flowstore/..."},
		why:  "promptbuilder calls no service of ours: the same request gives the same bytes",
	},
	{
		// bench and crash are clients of the service, from outside.
		name: "who calls whom", from: []string{"services/flowstore/..."}, except: []string{"services/*/bench/...", "services/*/crash/..."},
		deny: []string{"services/internal/grpcclient", "gen/tsumugi/agent/...", "gen/tsumugi/promptbuilder/..."},
		why:  "flowstore calls no service of ours: calls run one way, so that stopping has an order",
	},
	{
		name: "test code", from: []string{"services/..."},
		except: []string{
			"services/internal/testkit", "services/internal/llm/conformance", "services/*/*/*test/...", "services/*/*/*/*test/...",
			"services/*/bench/...", "services/*/e2e/...",
		},
		deny: []string{"testing", "testing/...", "services/internal/testkit", "services/*/*/*test", "services/*/*/*/*test", "services/internal/llm/conformance", "go.uber.org/goleak", "pgregory.net/rapid", "github.com/google/go-cmp/..."},
		why:  "what is for tests stays out of the programs; a mock that ships is presented as real sooner or later",
	},
}

func checkImports(p *pkg) []Violation {
	var out []Violation
	for _, r := range importRules {
		if !matchAny(r.from, p.path) || matchAny(r.except, p.path) {
			continue
		}
		for _, f := range p.files {
			if f.test && !r.tests {
				continue
			}
			for _, i := range f.imports() {
				if r.refuses(p.path, i.path) {
					out = append(out, Violation{f.path, i.line, r.name, "imports " + i.path, r.why})
				}
			}
		}
	}
	return out
}

func (r importRule) refuses(from, imported string) bool {
	if r.only != nil && !standard(imported) && !matchAny(bind(r.only, from), imported) {
		return true
	}
	return matchAny(bind(r.deny, from), imported) && !matchAny(bind(r.allow, from), imported)
}

// kinds are the packages of the kinds of model servers.
var kinds = []string{
	"services/internal/llm/llamacpp", "services/internal/llm/koboldcpp", "services/internal/llm/ollama", "services/internal/llm/openai",
	"services/internal/llm/gemini", "services/internal/llm/scripted",
}
