package util

func Undocumented() {}
