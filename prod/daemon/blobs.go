package daemon

import (
	"sync"
	"sync/atomic"
)

// Blobs holds the bytes of chunks from when they are handed to the star until
// their append was answered. It is the driver's source of Blob pieces.
type Blobs struct {
	next atomic.Uint64
	mu   sync.RWMutex
	all  map[uint64][]byte
}

func newBlobs() *Blobs { return &Blobs{all: map[uint64][]byte{}} }

// put keeps bytes under a new handle. They must not change until drop.
func (b *Blobs) put(bytes []byte) (handle uint64) {
	handle = b.next.Add(1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all[handle] = bytes
	return handle
}

// drop lets bytes go.
func (b *Blobs) drop(handle uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.all, handle)
}

// Blob is the bytes of a handle; see exec.Blobs.
func (b *Blobs) Blob(handle uint64) ([]byte, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	bytes, ok := b.all[handle]
	return bytes, ok
}
