package explore

// counts are the states of each world, with reduction. They are written anew by
// `go test ./sim/explore -run TestWorlds -all -rewrite`; read the difference before
// you believe it.
var counts = map[string]int{
	"absorb-rewrite": 206662,
	"age":            5184331,
	"bury-two":       1375878,
	"bury-unsettled": 1686252,
	"collect":        8415,
	"collect-two":    2040068,
	"orphan-late":    74424,
	"orphan-retry":   1129336,
	"reap-reader":    265640,
	"reap-two":       112840,
	"retire":         3089391,
	"settle-open":    869848,
	"settle-retry":   370939,
	"settle-two":     3878431,
	"settle-wide":    39809,
	"settle-zombie":  10560,
	"trim-rewrite":   4554672,
	"trim-two":       989128,
	"upload-left":    508702,
}
