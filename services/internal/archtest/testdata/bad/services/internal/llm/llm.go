// Package llm reaches out.
package llm

import _ "net/http"
