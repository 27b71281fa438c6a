// Command tsumugi knows more of a service than its app.
package main

import _ "github.com/tsumugi-dev/tsumugi/services/shop/cmd/shop"

func main() {}
