package store

import "iter"

// Each gives what a list has, page after page of size things, each of one snapshot. read is Store.Read of a namespace; page reads the things behind
// the last one of the page before, which is nil for the first. An error ends them.
func Each[T any](size int, read func(fn func(View) error) error, page func(v View, last *T) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for last := (*T)(nil); ; {
			var all []T
			err := read(func(v View) (err error) {
				all, err = page(v, last)
				return err
			})
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for i := range all {
				if last = &all[i]; !yield(all[i], nil) {
					return
				}
			}
			if len(all) < size {
				return
			}
		}
	}
}

// Behind is the place behind the last thing of a page, and first where there is none.
func Behind[T interface{ Place() Place }](last *T, first Place) Place {
	if last == nil {
		return first
	}
	return (*last).Place()
}
