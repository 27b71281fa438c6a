package passage

import "unicode"

// Invisible says of a character that it is not seen or changes how others are: control characters, bidirectional marks, zero width,
// fillers, tags, selectors of variants. Tabs and ends of lines are such, too.
func Invisible(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Joins says of an invisible character that ordinary writing needs it: the joiners, of scripts and of emoji, and the selectors of
// variants, of emoji and of Japanese names.
func Joins(r rune) bool {
	return r == 0x200c || r == 0x200d || unicode.Is(unicode.Variation_Selector, r)
}
