//go:build !linux

package explore

// huge asks for large pages where that can be asked.
func huge[T any](tab []T) []T { return tab }
