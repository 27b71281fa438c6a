package canon

import (
	"math"
	"strconv"
	"strings"
)

// number reads a number and gives it as ECMAScript prints a double (RFC 8785, 3.2.2.3).
func (p *parser) number() (value, error) {
	begin := p.at
	p.take('-')
	if !p.take('0') && !p.digits() {
		return value{}, p.unexpected("a digit")
	}
	if p.take('.') && !p.digits() {
		return value{}, p.unexpected("a digit")
	}
	if p.take('e') || p.take('E') {
		_ = p.take('-') || p.take('+')
		if !p.digits() {
			return value{}, p.unexpected("a digit")
		}
	}
	if p.at < len(p.in) && '0' <= p.in[p.at] && p.in[p.at] <= '9' {
		return value{}, p.unexpected("the end of the number (a leading 0 is not JSON)")
	}
	written := string(p.in[begin:p.at])
	f, err := strconv.ParseFloat(written, 64)
	if err != nil { // Out of range: the grammar was looked at above.
		return value{}, p.fail(InexactNumber, "%s is larger than a double can hold; send it as a string", brief(written))
	}
	text := formatNumber(f)
	if decimalOf(text) != decimalOf(written) {
		return value{}, p.fail(InexactNumber, "%s cannot be held exactly, it would become %s; send it as a string", brief(written), text)
	}
	return value{text: text}, nil
}

// brief is a number as an error quotes it.
func brief(number string) string {
	const most = 40 // characters: more than any number that a double holds has
	if len(number) > most {
		return number[:most] + "…"
	}
	return number
}

func (p *parser) take(c byte) bool {
	if p.at < len(p.in) && p.in[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) digits() bool {
	begin := p.at
	for p.at < len(p.in) && '0' <= p.in[p.at] && p.in[p.at] <= '9' {
		p.at++
	}
	return p.at > begin
}

// formatNumber prints a finite double as ECMAScript does: the fewest digits that read back as the same, without exponent
// from 1e-6 up to below 1e21. Minus zero is 0.
func formatNumber(f float64) string {
	const small, large = 1e-6, 1e21
	a := math.Abs(f)
	if a == 0 {
		return "0"
	}
	if a >= small && a < large {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	return mantissa + "e" + exponent[:1] + strings.TrimLeft(exponent[1:], "0")
}

// decimal is the value of a number: 0.digits * 10^exponent, without zeros at either end of the digits. Zero has none.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// decimalOf reads a number of JSON. An exponent that no int holds stands for no value that a double has.
func decimalOf(number string) decimal {
	rest, negative := strings.CutPrefix(number, "-")
	rest, power, _ := strings.Cut(strings.ToLower(rest), "e")
	whole, fraction, _ := strings.Cut(rest, ".")
	significant := strings.TrimLeft(whole+fraction, "0")
	exponent := len(whole) - (len(whole+fraction) - len(significant))
	significant = strings.TrimRight(significant, "0")
	if significant == "" {
		return decimal{}
	}
	if power != "" {
		n, err := strconv.Atoi(power)
		if err != nil {
			return decimal{digits: "out of range"}
		}
		exponent += n
	}
	return decimal{negative, significant, exponent}
}
