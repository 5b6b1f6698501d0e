package sim

import "nova/core"

// timer is something that happens at a time.
type timer struct {
	at     core.Ms
	serial uint64 // of two at one time, the one that was set first
	what   func()
}

// timers is a heap by time.
type timers []timer

func (h timers) less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].serial < h[j].serial
}

func (h *timers) push(t timer) {
	*h = append(*h, t)
	a := *h
	for i := len(a) - 1; i > 0; {
		up := (i - 1) / 2
		if !a.less(i, up) {
			break
		}
		a[i], a[up] = a[up], a[i]
		i = up
	}
}

func (h *timers) pop() timer {
	a := *h
	top := a[0]
	n := len(a) - 1
	a[0], a[n] = a[n], timer{}
	*h = a[:n]
	for i := 0; ; {
		k := 2*i + 1
		if k >= n {
			break
		}
		if k+1 < n && a.less(k+1, k) {
			k++
		}
		if !a.less(k, i) {
			break
		}
		a[i], a[k] = a[k], a[i]
		i = k
	}
	return top
}

// At calls f once the true time is t: before anything else that happens then.
func (s *Sim) At(t core.Ms, f func()) {
	s.serial++
	s.timers.push(timer{max(t, s.now), s.serial, f})
}

// After calls f once d has gone by.
func (s *Sim) After(d core.Ms, f func()) { s.At(s.now+d, f) }
