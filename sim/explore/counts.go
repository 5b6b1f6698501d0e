package explore

// counts are the states of each world, with reduction. They are written anew by
// `go test ./sim/explore -run TestWorlds -all -rewrite`; read the difference before
// you believe it.
var counts = map[string]int{
	"reap-two":       109052,
	"reap-reader":    73157,
	"settle-retry":   296278,
	"settle-two":     3878431,
	"orphan-late":    0,
	"orphan-retry":   0,
	"upload-cut":     0,
	"trim-two":       989128,
	"trim-rewrite":   989532,
	"collect":        8415,
	"age":            0,
	"bury-two":       0,
	"bury-unsettled": 0,
	"settle-zombie":  10560,
	"settle-open":    0,
	"absorb-rewrite": 206662,
	"retire":         3089391,
}
