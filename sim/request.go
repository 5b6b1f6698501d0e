package sim

// request is what a client can ask for. The set is closed.
type request uint8

const (
	reqCreate request = iota
	reqOpen
	reqAppend
	reqTrim
	reqDelete
	reqPolicy
	reqRead         // make a plan
	reqFetch        // use one
	reqServe        // read as the core's reader does: plan, hold, fetch
	reqUnpark       // parked markers are put back
	reqClose        // a star closes
	reqReopen       // a star starts again after it was closed
	reqDecommission // an operator takes a star out of use
	requests
)

var requestNames = [requests]string{"create", "open", "append", "trim", "delete", "policy", "read", "fetch", "serve-read", "unpark", "close", "reopen", "decommission"}

func (q request) String() string {
	if q < requests {
		return requestNames[q]
	}
	return "request?"
}
