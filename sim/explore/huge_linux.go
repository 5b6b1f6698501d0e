package explore

import (
	"syscall"
	"unsafe"
)

// huge asks for large pages behind a table that is read in no order: nearly every
// look at it would miss the processor's table of pages too. It is advice: where it
// is not taken, nothing but time is lost.
func huge[T any](tab []T) []T {
	const page = 2 << 20
	size := uintptr(len(tab)) * unsafe.Sizeof(tab[0])
	if size < 2*page {
		return tab
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(&tab[0])), size)
	skip := -uintptr(unsafe.Pointer(&tab[0])) % page
	b = b[skip : skip+(size-skip)/page*page]
	_ = syscall.Madvise(b, syscall.MADV_HUGEPAGE)
	return tab
}
