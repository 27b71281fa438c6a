// Package store is a port that knows an engine.
package store

import _ "github.com/tsumugi-dev/tsumugi/services/shop/internal/store/files"
