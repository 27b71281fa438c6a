// Package shopv1 knows a service.
package shopv1

import _ "github.com/tsumugi-dev/tsumugi/services/shop/app"
