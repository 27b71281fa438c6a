package llamacpp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
)

// probe is the text whose tokens tell one tokenizer from another: several scripts, joined emoji, combining marks, runs of
// blanks, line ends, digits, and the control tokens of common models. Changing it changes every fingerprint.
const probe = "紡ぎ、夜の港で「待て！」と彼女は言った。\n\n　ﾃｽﾄ ＡＢＣ１２３ カ\u3099ガ\n" +
	"The quick brown fox can't jump over 1234567890 lazy dogs...\n/path\t\t  x  \r\n" +
	"Ελληνικά русский 한국어 中文 العربية हिन्दी ไทย é e\u0301 👨‍👩‍👧‍👦🏽\u2581\n" +
	"{\"a\": [1, 2.5e-3]} <html> _ __ #### ``` [INST][/INST]<s></s><bos><eos>" +
	"<|im_start|><|im_end|><|endoftext|><start_of_turn><end_of_turn><|eot_id|>"

// props is what /props tells of the server.
type props struct {
	Defaults struct {
		Window int `json:"n_ctx"`
	} `json:"default_generation_settings"`
	Slots    int    `json:"total_slots"`
	Alias    string `json:"model_alias"`
	Path     string `json:"model_path"`
	Type     string `json:"model_ftype"`
	Template string `json:"chat_template"`
	BOS      string `json:"bos_token"`
	EOS      string `json:"eos_token"`
	Build    string `json:"build_info"`
	// Marker is drawn anew at each start of the server, by builds of 2026 at least.
	Marker string `json:"media_marker"`
}

// Window asks /props, and for the tokenizer's fingerprint only when what /props says of server and model has changed since
// the last time. A server that restarts with other weights under the same path is noticed through its `media_marker`;
// older builds have none: there such a restart goes unnoticed until this process restarts too.
func (c *Client) Window(ctx context.Context) (llm.Identity, error) {
	var p props
	if err := c.ask(ctx, c.windowLimit(), "/props", nil, &p, maxPropsBytes); err != nil {
		return llm.Identity{}, err
	}
	if p.Defaults.Window <= 0 {
		return llm.Identity{}, c.fault(llm.FaultProtocol, nil, "/props does not tell default_generation_settings.n_ctx, the window")
	}
	fingerprint, err := c.fingerprintOf(ctx, p)
	if err != nil {
		return llm.Identity{}, err
	}
	return llm.Identity{
		Backend: c.config.Name, Kind: Kind, Address: c.config.Address,
		Model: p.model(), Window: p.Defaults.Window, Tokenizer: fingerprint,
	}, nil
}

func (c *Client) windowLimit() limit { return limit{"window", c.config.Timeouts.Window} }

// model is the alias. A server that was given none says its path, of which the file's name is enough.
func (p props) model() string {
	if p.Alias != "" && p.Alias != p.Path {
		return p.Alias
	}
	return p.Path[strings.LastIndexAny(p.Path, `/\`)+1:]
}

// fingerprintOf gives the fingerprint of the server that described itself as p.
func (c *Client) fingerprintOf(ctx context.Context, p props) (string, error) {
	self := digest(p)
	c.mu.Lock()
	known, knownFor := c.known, c.knownFor
	c.mu.Unlock()
	if self == knownFor {
		return known, nil
	}
	fresh, err := c.fingerprint(ctx)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	c.known, c.knownFor = fresh, self
	c.mu.Unlock()
	return fresh, nil
}

// fingerprint hashes the token ids of the probe and the size of the vocabulary, where the server tells it.
func (c *Client) fingerprint(ctx context.Context) (string, error) {
	ids, err := c.tokens(ctx, c.windowLimit(), probe)
	if err != nil {
		return "", err
	}
	if err := c.agrees(ids); err != nil {
		return "", err
	}
	var models struct {
		Data []struct {
			Meta struct {
				Vocabulary int `json:"n_vocab"`
			} `json:"meta"`
		} `json:"data"`
	}
	if err := c.ask(ctx, c.windowLimit(), "/v1/models", nil, &models, maxPropsBytes); err != nil && !missing(err) {
		return "", err
	}
	size := 0
	if len(models.Data) > 0 {
		size = models.Data[0].Meta.Vocabulary
	}
	return digest([]any{size, ids}), nil
}

// agrees refuses a vocabulary of ours that cuts the probe in another way than the server: it is another model's.
func (c *Client) agrees(ids []int) error {
	t := c.config.Tokenizer
	if t == nil {
		return nil
	}
	same := slices.EqualFunc(t.Append(nil, probe, tokenizer.Prompt), ids, func(ours int32, its int) bool { return int(ours) == its })
	if !same {
		return c.fault(llm.FaultProtocol, nil, "the vocabulary in the backends file (`tokenizer`) cuts a text into other tokens than the server: it is another model's")
	}
	return nil
}

// missing says whether an answer was not of the expected shape, as with servers that lack an endpoint.
func missing(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && e.Fault == llm.FaultProtocol
}

// digest is the first half of the SHA-256 of a value's JSON, in hex.
func digest(v any) string {
	data, _ := json.Marshal(v) // plain structs, slices and numbers: cannot fail
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}
