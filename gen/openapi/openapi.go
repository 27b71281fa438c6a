// Package openapi holds the OpenAPI v2 description of the REST surface, as generated from the protos.
package openapi

import _ "embed"

// JSON is the description. It is not to be changed.
//
//go:embed tsumugi.swagger.json
var JSON []byte
