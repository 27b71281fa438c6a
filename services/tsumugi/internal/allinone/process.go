package allinone

import (
	"context"
	"errors"
	"net"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	agent "github.com/tsumugi-dev/tsumugi/services/agent/app"
	flowstore "github.com/tsumugi-dev/tsumugi/services/flowstore/app"
	gateway "github.com/tsumugi-dev/tsumugi/services/gateway/app"
	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/obs"
	promptbuilder "github.com/tsumugi-dev/tsumugi/services/promptbuilder/app"
)

// inMemory is the buffer of a connection in memory, in bytes.
const inMemory = 1 << 20

// Process is every service in one process, with its addresses open.
type Process struct {
	log              *zap.Logger
	stop             lifecycle.StopConfig
	grpc, http, adm  net.Listener
	parts            []lifecycle.Part
	connections      lifecycle.Closers // closed behind everything that uses them
	undo             lifecycle.Closers // what a failed Open has to close beside them
	front, inner     *grpcserver.Server
	auth             *auth.Authenticator
	toFront, toInner *bufconn.Listener
}

// Open makes every service and opens the addresses; nothing answers before Run. On an error nothing is left open.
func Open(ctx context.Context, cfg Config, log *zap.Logger) (*Process, error) {
	p := &Process{log: log, stop: cfg.Stop, toFront: bufconn.Listen(inMemory), toInner: bufconn.Listen(inMemory)}
	if err := p.open(ctx, cfg); err != nil {
		return nil, errors.Join(err, p.undo.Close(), p.connections.Close())
	}
	return p, nil
}

// GRPC is the address of gRPC, with the port that was taken.
func (p *Process) GRPC() string { return p.grpc.Addr().String() }

// HTTP is the address of REST.
func (p *Process) HTTP() string { return p.http.Addr().String() }

// Admin is the address of the admin port.
func (p *Process) Admin() string { return p.adm.Addr().String() }

// Notice is a sentence that the person has to be told once; empty where there is none.
func (p *Process) Notice() string { return p.auth.Notice() }

// Run answers until a signal comes, ctx ends or a part fails, and stops everything in order.
func (p *Process) Run(ctx context.Context, o lifecycle.Options) error {
	o.Log, o.Stop = p.log, p.stop
	return lifecycle.Run(ctx, o, p.parts...)
}

func (p *Process) open(ctx context.Context, cfg Config) error {
	if err := p.listen(cfg.Listen, cfg.Auth); err != nil {
		return err
	}
	var err error
	if p.auth, err = auth.Open(cfg.Auth, cfg.Agent.Data, p.log); err != nil {
		return err
	}
	metrics := obs.NewRegistry()
	set, told := cfg.set, cfg.told
	if set == nil { // settings that nobody loaded
		if set, told, err = backends.Choose(cfg.Backends, cfg.FlowStore.ConfigFile()); err != nil {
			return err
		}
	}
	p.tell(cfg.FlowStore.ConfigFile(), told)
	p.connections = append(p.connections, set.Close)
	p.front = p.server(cfg, metrics, "front")
	p.inner = p.server(cfg, metrics, "inner")
	apps, err := p.start(ctx, cfg, set, metrics)
	if err != nil {
		return err
	}
	admin := obs.NewAdmin(metrics, func(ctx context.Context) []obs.Check { return append(apps.ready(ctx), p.auth.Ready(ctx)...) })
	p.parts = p.order(apps, admin)
	return nil
}

// tell has the log say what became of the model servers of a config.yaml. What is left out of it does not do what its writer meant.
func (p *Process) tell(file string, told backends.Told) {
	const message = "model servers of config.yaml"
	for _, line := range told.Wrong {
		p.log.Warn(message, zap.String("file", file), zap.String("told", line))
	}
	if told.Taken != "" {
		p.log.Info(message, zap.String("file", file), zap.String("told", told.Taken))
	}
}

// listen opens all addresses, and tells of all that are taken.
func (p *Process) listen(l Listen, asks auth.Config) error {
	var taken []error
	for _, address := range []struct {
		key, address string
		asks         auth.Config
		to           *net.Listener
	}{{"listen.grpc", l.GRPC, asks, &p.grpc}, {"listen.http", l.HTTP, asks, &p.http}, {"listen.admin", l.Admin, auth.Config{}, &p.adm}} {
		listener, err := lifecycle.Listen(address.key, address.address, address.asks)
		if err != nil {
			taken = append(taken, err)
			continue
		}
		*address.to = listener
		lifecycle.Unencrypted(p.log, listener)
		p.undo = append(p.undo, listener.Close)
	}
	return errors.Join(taken...)
}

// server makes front or inner. Both count into one registry and are told apart by the label `server`.
func (p *Process) server(cfg Config, metrics prometheus.Registerer, name string) *grpcserver.Server {
	o := grpcserver.Options{
		Config:  cfg.GRPC,
		Log:     p.log.Named(name),
		Metrics: prometheus.WrapRegistererWith(prometheus.Labels{"server": name}, metrics),
	}
	if name == "inner" {
		o.TrustCaller = true
	} else {
		o.Auth, o.Reflection = p.auth, lifecycle.Loopback(cfg.Listen.GRPC)
	}
	s := grpcserver.New(o)
	p.undo = append(p.undo, func() error { return s.Stop(context.Background()) }) // nobody has called it yet
	return s
}

// applications are the four services.
type applications struct {
	promptbuilder *promptbuilder.App
	flowstore     *flowstore.App
	agent         *agent.App
	gateway       *gateway.App
}

// ready asks the store and the model servers, and tells how the MCP servers are. All else that agent and gateway look at is asked here already.
func (a applications) ready(ctx context.Context) []obs.Check {
	return slices.Concat(a.flowstore.Ready(ctx), a.promptbuilder.Ready(ctx), a.agent.ReadyServers())
}

// start makes the services, those first that are called.
func (p *Process) start(ctx context.Context, cfg Config, set *backends.Set, metrics prometheus.Registerer) (a applications, err error) {
	if a.flowstore, err = flowstore.New(ctx, cfg.FlowStore, flowstore.Deps{Log: p.log.Named("flowstore"), Metrics: metrics}); err != nil {
		return a, err
	}
	p.undo = append(p.undo, func() error { return a.flowstore.Close(ctx) })
	a.promptbuilder, err = promptbuilder.New(ctx, cfg.PromptBuilder, promptbuilder.Deps{Log: p.log.Named("promptbuilder"), Metrics: metrics, Backends: set})
	if err != nil {
		return a, err
	}
	inner, err := p.dial(p.toInner)
	if err != nil {
		return a, err
	}
	front, err := p.dial(p.toFront)
	if err != nil {
		return a, err
	}
	a.agent, err = agent.New(ctx, cfg.Agent, agent.Deps{
		Log: p.log.Named("agent"), Metrics: metrics, Backends: set, PromptBuilder: inner, FlowStore: inner, Own: cfg.own(),
	})
	if err != nil {
		return a, err
	}
	a.gateway, err = gateway.New(ctx, cfg.Gateway, gateway.Deps{
		Log: p.log.Named("gateway"), Metrics: metrics, Auth: p.auth, PromptBuilder: front, Agent: front, FlowStore: front,
	})
	if err != nil {
		return a, err
	}
	a.register(p.front.Registrar(), p.inner.Registrar())
	return a, nil
}

func (a applications) register(front, inner grpc.ServiceRegistrar) {
	a.promptbuilder.Register(front)
	a.promptbuilder.Register(inner)
	a.flowstore.Register(front)
	a.flowstore.Register(inner)
	a.agent.Register(front)
}

func (p *Process) dial(l *bufconn.Listener) (*grpc.ClientConn, error) {
	conn, err := grpcclient.Dial("in-memory", grpcclient.Options{Dialer: l.DialContext})
	if err != nil {
		return nil, err
	}
	p.connections = append(p.connections, conn.Close)
	return conn, nil
}

// order lists the parts as they stop: whoever calls stops before whom it calls. The agent closes before inner does, since
// it stores its last words through it.
func (p *Process) order(a applications, admin *obs.Admin) []lifecycle.Part {
	http := lifecycle.HTTPPart("HTTP", p.http, a.gateway.Handler(), p.log)
	http.Drain = a.gateway.Drain
	generations := lifecycle.AppPart("agent", a.agent)
	generations.Drain = a.agent.Drain
	return []lifecycle.Part{
		http,
		lifecycle.AppPart("gateway", a.gateway),
		lifecycle.GRPCPart("front", p.front, p.grpc, p.toFront),
		generations,
		lifecycle.GRPCPart("inner", p.inner, p.toInner),
		lifecycle.AppPart("promptbuilder", a.promptbuilder),
		lifecycle.AppPart("flowstore", a.flowstore),
		{Name: "connections", Close: func(context.Context) error { return p.connections.Close() }},
		lifecycle.AdminPart(p.adm, admin, p.log),
	}
}
