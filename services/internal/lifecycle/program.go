package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
	"github.com/tsumugi-dev/tsumugi/services/internal/obs"
)

// Settings are what every program of one service has. It stands inlined in the program's own settings.
type Settings struct {
	Listen string        `yaml:"listen" help:"address of the service"`
	Admin  string        `yaml:"admin" help:"address of /livez, /readyz and /metrics; Host must be localhost or an IP address"`
	Auth   auth.Config   `yaml:"auth"`
	Log    obs.LogConfig `yaml:"log"`
	Stop   StopConfig    `yaml:"stop"`
}

// DefaultSettings are the defaults with the addresses of a service.
func DefaultSettings(listen, admin string) Settings {
	return Settings{Listen: listen, Admin: admin, Log: obs.DefaultLogConfig(), Stop: DefaultStopConfig()}
}

// Check finds addresses that may not be opened.
func (s Settings) Check(p *config.Problems) {
	CheckAddress(p, "listen", s.Listen, s.Auth)
	CheckAddress(p, "admin", s.Admin, auth.Config{}) // nobody is asked there
}

// GRPCApp is an App that answers gRPC.
type GRPCApp interface {
	App
	Register(r grpc.ServiceRegistrar)
}

// HTTPApp is an App that answers HTTP.
type HTTPApp interface {
	App
	Handler() http.Handler
}

// Program is a program of one service.
type Program struct {
	// Name is the service, such as `flowstore`; Summary says in a sentence what it does.
	Name, Summary string
	// Config is a pointer to the program's settings with their defaults; Settings and GRPC point into it. GRPC is nil
	// for an HTTPApp.
	Config   any
	Settings *Settings
	GRPC     *grpcserver.Config
	// Approver points into Config: the folder with the secret that makes a caller an approver where there is no file of tokens. Nil for a
	// service in which nobody decides.
	Approver *string
	// Start makes the service once the settings are loaded: a GRPCApp or an HTTPApp.
	Start func(ctx context.Context, e Env) (App, error)
	// Try is a line that a person can paste, with ADDRESS for the address of the service.
	Try string
}

// Env is what Start gets.
type Env struct {
	Log     *zap.Logger
	Metrics prometheus.Registerer
	// Auth finds out who calls; nil without a file of tokens. A GRPCApp need not look at it: its server does.
	Auth *auth.Authenticator
	// Own are the files of the program itself: what it runs, its settings and its tokens.
	Own []string
	// Defer runs f when the app is closed, last first: for connections to other services.
	Defer func(f func() error)
}

// Main runs a program of one service and returns its exit code. args are those behind the name of the program. Answers
// to the person go to out, trouble and the log to trouble.
func Main(p Program, args, env []string, out io.Writer, trouble *os.File) int {
	err := run(p, args, env, out, trouble)
	if err == nil {
		return 0
	}
	fmt.Fprintf(trouble, "%s: %v\n", p.Name, err)
	return 1
}

func run(p Program, args, env []string, out io.Writer, trouble *os.File) error {
	if config.AsksHelp(args) {
		return help(p, out)
	}
	if config.AsksVersion(args) {
		_, err := fmt.Fprintln(out, Version(p.Name))
		return err
	}
	if err := config.LoadProgram(p.Config, map[string]string{strings.ToUpper(p.Name): ""}, args, env); err != nil {
		return err
	}
	log := obs.NewLogger(p.Settings.Log, trouble)
	defer log.Sync()
	service, admin, err := listen(p.Settings)
	if err != nil {
		return err
	}
	parts, notice, err := p.parts(log, service, admin, p.own(args))
	if err != nil {
		return errors.Join(err, service.Close(), admin.Close())
	}
	signals, release := Signals()
	defer release()
	fmt.Fprintf(out, "%s answers on %s; http://%s/readyz says how it is, http://%s/metrics counts.\n", p.Name, service.Addr(), admin.Addr(), admin.Addr())
	if notice != "" {
		fmt.Fprintln(out, notice)
	}
	if p.Try != "" {
		fmt.Fprintf(out, "Try: %s\n", strings.ReplaceAll(p.Try, "ADDRESS", service.Addr().String()))
	}
	return Run(background, Options{Log: log, Stop: p.Settings.Stop, Signals: signals}, parts...)
}

// listen opens both addresses before anything else is started: ports that are taken are told within a moment.
func listen(s *Settings) (service, admin net.Listener, err error) {
	service, noService := Listen("listen", s.Listen, s.Auth)
	admin, noAdmin := Listen("admin", s.Admin, auth.Config{})
	if err = errors.Join(noService, noAdmin); err == nil {
		return service, admin, nil
	}
	for _, opened := range []net.Listener{service, admin} {
		if opened != nil {
			err = errors.Join(err, opened.Close())
		}
	}
	return nil, nil, err
}

func (p Program) approver() string {
	if p.Approver == nil {
		return ""
	}
	return *p.Approver
}

// own are the program, its settings file and its file of tokens.
func (p Program) own(args []string) []string {
	program, _ := os.Executable() // Where nobody knows it, nothing holds it.
	return slices.DeleteFunc([]string{program, config.FileOf(args), p.Settings.Auth.Tokens}, func(name string) bool { return name == "" })
}

// parts starts the service and lists what runs, in the order in which it stops. notice is what the person is to be told.
func (p Program) parts(log *zap.Logger, service, admin net.Listener, own []string) (all []Part, notice string, err error) {
	metrics := obs.NewRegistry()
	asks, err := auth.Open(p.Settings.Auth, p.approver(), log)
	if err != nil {
		return nil, "", err
	}
	Unencrypted(log, service)
	var connections Closers
	app, err := p.Start(background, Env{Log: log, Metrics: metrics, Auth: asks, Own: own, Defer: func(f func() error) { connections = append(connections, f) }})
	if err != nil {
		return nil, "", errors.Join(err, connections.Close())
	}
	var front Part
	switch app := app.(type) {
	case GRPCApp:
		s := grpcserver.New(grpcserver.Options{Config: *p.GRPC, Log: log, Metrics: metrics, Auth: asks, Reflection: Loopback(service.Addr().String())})
		app.Register(s.Registrar())
		front = GRPCPart("gRPC", s, service)
	case HTTPApp:
		front = HTTPPart("HTTP", service, app.Handler(), log)
	}
	return []Part{
		front,
		AppPart(p.Name, app),
		{Name: "connections", Close: func(context.Context) error { return connections.Close() }},
		AdminPart(admin, obs.NewAdmin(metrics, func(ctx context.Context) []obs.Check { return append(app.Ready(ctx), asks.Ready(ctx)...) }), log),
	}, asks.Notice(), nil
}
