package story

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Wrapping is what stands around the parts of a prompt: the form in which a model was trained to be asked.
type Wrapping struct {
	// Name is one of Wrappings, or CustomWrapping.
	Name string
	// BOS begins the prompt where the model server adds no BOS by itself; empty where it does.
	BOS string
	// BeforeInstruction comes next. BeforeInput stands between the instruction and the input, where there is one; it
	// ends with a line feed. AfterInput ends the input, BeforeSuffix begins what the model continues.
	BeforeInstruction string
	BeforeInput       string
	AfterInput        string
	BeforeSuffix      string
	// Stop are the strings at which an answer ends; whoever sends the prompt sends them too.
	Stop []string
}

// CustomWrapping is the name of a wrapping that a request brings itself.
const CustomWrapping = "custom"

// RawWrapping is the name of the wrapping without marks, for models that were not trained to be asked: lines and unfinished line
// stand as one text.
const RawWrapping = "raw"

// DefaultWrapping is that of seed 000, 2.1.
const DefaultWrapping = "mistral"

// wrappings are the forms of model families, as their chat templates write a question of the user and the beginning of
// the answer, without the BOS token: servers add that. raw has a line feed alone, so that the text stands in one piece.
var wrappings = map[string]Wrapping{
	DefaultWrapping: {BeforeInstruction: "[INST]", BeforeInput: "\n", AfterInput: "[/INST]", Stop: []string{"[INST]", "[/INST]"}},
	"chatml": {
		BeforeInstruction: "<|im_start|>user\n", BeforeInput: "\n", AfterInput: "<|im_end|>\n", BeforeSuffix: "<|im_start|>assistant\n",
		Stop: []string{"<|im_start|>", "<|im_end|>"},
	},
	"llama3": {
		BeforeInstruction: "<|start_header_id|>user<|end_header_id|>\n\n", BeforeInput: "\n", AfterInput: "<|eot_id|>",
		BeforeSuffix: "<|start_header_id|>assistant<|end_header_id|>\n\n", Stop: []string{"<|eot_id|>", "<|start_header_id|>"},
	},
	"gemma": {
		BeforeInstruction: "<start_of_turn>user\n", BeforeInput: "\n", AfterInput: "<end_of_turn>\n", BeforeSuffix: "<start_of_turn>model\n",
		Stop: []string{"<start_of_turn>", "<end_of_turn>"},
	},
	"alpaca": {
		BeforeInstruction: "### Instruction:\n", BeforeInput: "\n\n### Input:\n", AfterInput: "\n\n", BeforeSuffix: "### Response:\n",
		Stop: []string{"### Instruction:", "### Input:", "### Response:"},
	},
	RawWrapping: {BeforeInput: "\n", AfterInput: "\n"},
}

// Wrappings are the names of the wrappings that are known, sorted.
func Wrappings() []string { return slices.Sorted(maps.Keys(wrappings)) }

// resolve gives the whole wrapping of a request's.
func (w Wrapping) resolve() Wrapping {
	if w.Name == CustomWrapping {
		return w
	}
	known := wrappings[cmp.Or(w.Name, DefaultWrapping)]
	known.Name = cmp.Or(w.Name, DefaultWrapping)
	return known
}

// maxMark is the longest mark of a custom wrapping, and maxStops how many stop strings it, or a sampling, may have.
const (
	maxMark  = 1 << 10
	maxStops = 16
)

// check finds what is wrong with the wrapping of a request.
func (v *violations) wrapping(w Wrapping) {
	marks := []struct{ name, text string }{
		{"bos", w.BOS},
		{"before_instruction", w.BeforeInstruction}, {"before_input", w.BeforeInput}, {"after_input", w.AfterInput}, {"before_suffix", w.BeforeSuffix},
	}
	if w.Name != CustomWrapping {
		if _, known := wrappings[cmp.Or(w.Name, DefaultWrapping)]; !known {
			v.add("wrapping.name", "must be one of %s, or custom, and is %.40q", strings.Join(Wrappings(), ", "), w.Name)
		}
		for _, m := range marks {
			if m.text != "" {
				v.add("wrapping."+m.name, "is given, but only the wrapping custom takes marks of its own")
			}
		}
		if len(w.Stop) > 0 {
			v.add("wrapping.stop", "is given, but only the wrapping custom takes stop strings of its own")
		}
		return
	}
	for _, m := range marks {
		v.size("wrapping."+m.name, m.text, maxMark)
	}
	if !strings.HasSuffix(w.BeforeInput, "\n") {
		v.add("wrapping.before_input", "must end with a line feed: the blocks of the input stand on lines of their own")
	}
	v.stops("wrapping.stop", w.Stop, maxMark)
}

// stops finds what is wrong with the stop strings of a field, each of so many bytes at most.
func (v *violations) stops(list string, stops []string, limit int) {
	if n := len(stops); n > maxStops {
		v.add(list, "has %d items; the limit is %d", n, maxStops)
		return
	}
	for i, stop := range stops {
		field := fmt.Sprintf("%s[%d]", list, i)
		v.size(field, stop, limit)
		if stop == "" {
			v.add(field, "must not be empty")
		}
	}
}
