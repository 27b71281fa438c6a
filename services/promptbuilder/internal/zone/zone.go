// Package zone has the time zones of the IANA database, the same ones on every machine: what a machine or its environment
// (ZONEINFO) knows of zones changes no prompt. zoneinfo.zip is that of Go (lib/time of its source), whose data are in the public
// domain; a newer one is copied from there. Pure.
package zone

import (
	"archive/zip"
	"bytes"
	_ "embed" // zoneinfo.zip
	"fmt"
	"io/fs"
	"sync"
	"time"
)

//go:embed zoneinfo.zip
var data []byte

var files = sync.OnceValue(func() *zip.Reader {
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		panic(fmt.Sprintf("zoneinfo.zip: %v", err)) // It is part of the program, and a test reads it.
	}
	return r
})

// Load gives a zone by its name, such as Asia/Tokyo, whose case counts. The error says that there is none of the name.
func Load(name string) (*time.Location, error) {
	text, err := fs.ReadFile(files(), name)
	if err != nil {
		return nil, fmt.Errorf("there is no time zone %.80q", name)
	}
	return time.LoadLocationFromTZData(name, text)
}
