package format

import "bytes"

// checkTags refuses a tag with more than maxAttributes attributes before the XML parser sees it: the parser makes a list of
// all attributes of a tag, which takes twenty times their bytes.
func checkTags(text []byte) error {
	for {
		start := bytes.IndexByte(text, '<')
		if start < 0 {
			return nil
		}
		text = text[start+1:]
		if rest, passed := passOver(text); passed {
			text = rest
			continue
		}
		tag, values := text, 0
		for {
			at := bytes.IndexAny(text, "\"'>")
			if at < 0 {
				return nil // the parser says what is wrong with it
			}
			sign := text[at]
			text = text[at+1:]
			if sign == '>' {
				break
			}
			if values++; values > maxAttributes {
				return unreadable("<%s> has more than %d attributes", cut(string(tag[:bytes.IndexAny(tag, blanks+"/>\"'=")])), maxAttributes)
			}
			text = text[bytes.IndexByte(text, sign)+1:]
		}
	}
}

// passOver gives what is behind a comment, a CDATA section or a processing instruction that begins behind a bracket.
func passOver(text []byte) (rest []byte, passed bool) {
	for _, form := range [][2]string{{"!--", "-->"}, {"![CDATA[", cdataClose}, {"?", "?>"}} {
		if rest, found := bytes.CutPrefix(text, []byte(form[0])); found {
			_, rest, _ := bytes.Cut(rest, []byte(form[1]))
			return rest, true
		}
	}
	return nil, false
}
