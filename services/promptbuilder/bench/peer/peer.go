// Package peer is how seed 000, 2.3 fits a text: it counts the whole, guesses where to begin, and then cuts a step more and
// counts the whole prompt again until it fits.
package peer

// Loop fits by that loop. Step must not be 0.
type Loop struct {
	// Count counts a prompt, Build makes it from a body.
	Count func(prompt string) int
	Build func(body string) string
	// Step and Offset are characters (code points).
	Step, Offset int
}

// Fit gives the first prompt of at most limit tokens that the loop comes upon, and how often it counted; "" where it comes
// upon none.
func (l Loop) Fit(body string, limit int) (prompt string, counts int) {
	count := func(text string) int { counts++; return l.Count(text) }
	prompt = l.Build(body)
	total := count(prompt)
	if total <= limit {
		return prompt, counts
	}
	characters := []rune(body)
	each := float64(count(body)) / float64(len(characters))
	other := total - int(each*float64(len(characters)))
	start := max(0, len(characters)-int(float64(limit-other)/each)-l.Offset)
	for ; start < len(characters); start += l.Step {
		prompt = l.Build(string(characters[start:]))
		if count(prompt) <= limit {
			return prompt, counts
		}
	}
	return "", counts
}
