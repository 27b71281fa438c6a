package llmtest

import (
	"bytes"
	"encoding/json"
	"strings"
)

// What the real server says of itself that no test here changes. Its settings stand in /props and, with more of them, in
// each answer.
var (
	defaults = json.RawMessage(`{"seed":4294967295,"temperature":0.8,"dynatemp_range":0.0,"dynatemp_exponent":1.0,"top_k":40,` +
		`"top_p":0.95,"min_p":0.05,"top_n_sigma":-1.0,"xtc_probability":0.0,"xtc_threshold":0.1,"typical_p":1.0,` +
		`"repeat_last_n":64,"repeat_penalty":1.0,"presence_penalty":0.0,"frequency_penalty":0.0,"dry_multiplier":0.0,` +
		`"dry_base":1.75,"dry_allowed_length":2,"dry_penalty_last_n":64,"mirostat":0,"mirostat_tau":5.0,"mirostat_eta":0.1,` +
		`"adaptive_target":-1.0,"adaptive_decay":0.9,"max_tokens":-1,"n_predict":-1,"n_keep":0,"n_discard":0,` +
		`"ignore_eos":false,"stream":false,"n_probs":0,"min_keep":0,"chat_format":"Content-only",` +
		`"reasoning_format":"none","reasoning_in_content":false,"generation_prompt":"","samplers":` + samplers +
		`,"speculative.types":"none","timings_per_token":false,"post_sampling_probs":false,"backend_sampling":false,"lora":[]}`)

	settings = json.RawMessage(`{"seed":1,"temperature":0.0,"dynatemp_range":0.0,"dynatemp_exponent":1.0,"top_k":40,` +
		`"top_p":0.95,"min_p":0.05,"top_n_sigma":-1.0,"xtc_probability":0.0,"xtc_threshold":0.1,"typical_p":1.0,` +
		`"repeat_last_n":64,"repeat_penalty":1.0,"presence_penalty":0.0,"frequency_penalty":0.0,"dry_multiplier":0.0,` +
		`"dry_base":1.75,"dry_allowed_length":2,"dry_penalty_last_n":64,"dry_sequence_breakers":["\n",":","\"","*"],` +
		`"mirostat":0,"mirostat_tau":5.0,"mirostat_eta":0.1,"adaptive_target":-1.0,"adaptive_decay":0.9,"stop":[],` +
		`"max_tokens":8,"n_predict":8,"n_keep":0,"n_discard":0,"ignore_eos":false,"stream":true,"logit_bias":[],` +
		`"n_probs":0,"min_keep":0,"grammar":"","grammar_lazy":false,"grammar_triggers":[],"preserved_tokens":[],` +
		`"chat_format":"Content-only","reasoning_format":"deepseek","reasoning_in_content":false,` +
		`"generation_prompt":"","samplers":` + samplers +
		`,"speculative.types":"none","timings_per_token":false,"post_sampling_probs":false,"backend_sampling":false,"lora":[]}`)

	modalities = json.RawMessage(`{"vision":false,"video":false,"audio":false}`)
	// ollamaModel is the model once more, as Ollama's clients look for it.
	ollamaModel = json.RawMessage(`{"name":"fake.gguf","model":"fake.gguf","modified_at":"","size":"","digest":"","type":"model",` +
		`"description":"","tags":[""],"capabilities":["completion"],"parameters":"","details":{"parent_model":"",` +
		`"format":"gguf","family":"","families":[""],"parameter_size":"","quantization_level":""}}`)
	architecture = json.RawMessage(`{"input_modalities":["text"],"output_modalities":["text"]}`)
	templateCaps = json.RawMessage(`{"supports_object_arguments":false,"supports_parallel_tool_calls":false,` +
		`"supports_preserve_reasoning":false,"supports_reasoning_effort":false,"supports_string_content":true,` +
		`"supports_system_role":true,"supports_tool_calls":false,"supports_tools":false,"supports_typed_content":false}`)
)

// capsOf are the capabilities of a template.
func capsOf(tools bool) json.RawMessage {
	if !tools {
		return templateCaps
	}
	text := strings.ReplaceAll(string(templateCaps), `"supports_tools":false`, `"supports_tools":true`)
	return json.RawMessage(strings.ReplaceAll(text, `"supports_tool_calls":false`, `"supports_tool_calls":true`))
}

const samplers = `["penalties","dry","top_n_sigma","top_k","typ_p","top_p","min_p","xtc","temperature"]`

// settingsWith are the settings of one answer.
func settingsWith(stops []string) json.RawMessage {
	if len(stops) == 0 {
		return settings
	}
	list, _ := json.Marshal(stops) // text alone: cannot fail
	return bytes.Replace(settings, []byte(`"stop":[]`), append([]byte(`"stop":`), list...), 1)
}
