package main

import _ "github.com/tsumugi-dev/tsumugi/services/shop/internal/price"

func main() {}
