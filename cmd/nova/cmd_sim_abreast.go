package main

// abreast runs what is asked of each seed from one up to, not including, another, so
// many side by side, and ends them one by one in the order of the seeds, until one
// end says that it is enough. What is still running then is waited for, and not
// ended.
func abreast(most int, from, to uint64, run func(seed uint64) (end func() bool)) {
	most = max(most, 1)
	running := make(chan struct{}, most)
	ends := make(chan chan func() bool, 4*most)
	enough := make(chan struct{})
	go func() {
		defer close(ends)
		for seed := from; seed < to; seed++ {
			select {
			case <-enough:
				return
			case running <- struct{}{}:
			}
			end := make(chan func() bool, 1)
			go func() {
				end <- run(seed)
				<-running
			}()
			ends <- end
		}
	}()
	goes := true
	for end := range ends {
		f := <-end
		if goes && !f() {
			goes = false
			close(enough)
		}
	}
}
