package grpcclient

// serviceConfig spreads calls over all servers that are well, and repeats on UNAVAILABLE (AIP-194), as long as most
// calls succeed, those that change nothing. A create may have happened although its answer was lost: who gives it a
// request_id repeats it himself (AIP-155). Nor is what a service forbids (apierr.Error.Once): that its model server is away.
//
// Health is left out inside one process and for Options.ToTheLast: a server that is about to stop says NOT_SERVING and
// still answers.
func serviceConfig(health bool) string {
	if health {
		return `{"healthCheckConfig": {"serviceName": ""}, ` + balancingAndRetries
	}
	return `{` + balancingAndRetries
}

const balancingAndRetries = `
	"loadBalancingConfig": [{"round_robin": {}}],
	"retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1},
	"methodConfig": [{
		"name": [
			{"service": "tsumugi.agent.v1.AgentService", "method": "GetGeneration"},
			{"service": "tsumugi.agent.v1.AgentService", "method": "BuildNodeContext"},
			{"service": "tsumugi.agent.v1.AgentService", "method": "GetSession"},
			{"service": "tsumugi.agent.v1.AgentService", "method": "ListSessions"},
			{"service": "tsumugi.agent.v1.AgentService", "method": "ListApprovals"},
			{"service": "tsumugi.agent.v1.AgentService", "method": "GetApproval"},
			{"service": "tsumugi.agent.v1.AgentService", "method": "ExplainPolicy"},
			{"service": "tsumugi.agent.v1.AgentService", "method": "ListTools"},
			{"service": "tsumugi.agent.v1.AgentService", "method": "ListAuditRecords"},
			{"service": "tsumugi.agent.v1.AgentService", "method": "VerifyAudit"},
			{"service": "tsumugi.flowstore.v1.FlowStoreService", "method": "GetNode"},
			{"service": "tsumugi.flowstore.v1.FlowStoreService", "method": "GetFlow"},
			{"service": "tsumugi.flowstore.v1.FlowStoreService", "method": "ListPathNodes"},
			{"service": "tsumugi.flowstore.v1.FlowStoreService", "method": "ListNodes"},
			{"service": "tsumugi.flowstore.v1.FlowStoreService", "method": "ListFlows"},
			{"service": "tsumugi.flowstore.v1.FlowStoreService", "method": "ListNodeRevisions"},
			{"service": "tsumugi.flowstore.v1.FlowStoreService", "method": "SearchNodes"},
			{"service": "tsumugi.flowstore.v1.FlowStoreService", "method": "ListTags"},
			{"service": "tsumugi.flowstore.v1.FlowStoreService", "method": "ListHistoryNodes"},
			{"service": "tsumugi.flowstore.v1.FlowStoreService", "method": "ValidateFlow"},
			{"service": "tsumugi.flowstore.v1.FlowStoreService", "method": "DiffHeads"},
			{"service": "tsumugi.flowstore.v1.FlowStoreService", "method": "DiffNodes"},
			{"service": "tsumugi.promptbuilder.v1.PromptBuilderService", "method": "BuildStory"},
			{"service": "tsumugi.promptbuilder.v1.PromptBuilderService", "method": "ParseIdea"},
			{"service": "tsumugi.promptbuilder.v1.PromptBuilderService", "method": "BuildSystem"},
			{"service": "tsumugi.promptbuilder.v1.PromptBuilderService", "method": "BuildAgent"},
			{"service": "tsumugi.promptbuilder.v1.PromptBuilderService", "method": "BuildContext"},
			{"service": "tsumugi.promptbuilder.v1.PromptBuilderService", "method": "BuildNodeDetail"},
			{"service": "tsumugi.promptbuilder.v1.PromptBuilderService", "method": "ListTemplates"},
			{"service": "tsumugi.promptbuilder.v1.PromptBuilderService", "method": "GetTemplate"},
			{"service": "tsumugi.promptbuilder.v1.PromptBuilderService", "method": "RenderTemplate"},
			{"service": "tsumugi.promptbuilder.v1.PromptBuilderService", "method": "ListBackends"},
			{"service": "tsumugi.promptbuilder.v1.PromptBuilderService", "method": "ListPresets"},
			{"service": "tsumugi.promptbuilder.v1.PromptBuilderService", "method": "CountTokens"}
		],
		"retryPolicy": {
			"maxAttempts": 4,
			"initialBackoff": "0.1s",
			"maxBackoff": "1s",
			"backoffMultiplier": 2,
			"retryableStatusCodes": ["UNAVAILABLE"]
		}
	}]
}`
