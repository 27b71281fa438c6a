package workfolder

func child() bool { return false }
