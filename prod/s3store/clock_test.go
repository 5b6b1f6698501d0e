package s3store

import (
	"testing"

	"nova/core"
)

// A jump of the process's clock shows before any answer does, and is gone again
// when the clock is set right (C7).
func TestAJumpOfTheClockShowsAtOnce(t *testing.T) {
	wall, steady := core.Ms(1_700_000_000_000), core.Ms(50)
	c := clock{now: func() core.Ms { return wall }, steady: func() core.Ms { return steady }}
	if _, known := c.skew(); known {
		t.Fatal("the server's clock is known before its first answer")
	}
	c.saw("Tue, 14 Nov 2023 22:13:20 GMT", steady-20, steady) // 1,700,000,000 s
	if ahead, known := c.skew(); !known || ahead < 0 || ahead > 1000 {
		t.Fatalf("ahead by %d ms (%v) right after an answer", ahead, known)
	}
	wall, steady = wall+60_000, steady+60_000
	if ahead, _ := c.skew(); ahead < 0 || ahead > 1000 {
		t.Fatalf("ahead by %d ms a minute later", ahead)
	}
	const decade = core.Ms(10 * 365 * 24 * 3_600_000)
	wall += decade
	if ahead, _ := c.skew(); ahead > -decade+1000 {
		t.Fatalf("the clock jumped by ten years, and the server's is %d ms ahead", ahead)
	}
	wall -= decade
	if ahead, _ := c.skew(); ahead < 0 || ahead > 1000 {
		t.Fatalf("ahead by %d ms when the clock is right again", ahead)
	}
	c.saw("yesterday", steady, steady)
	c.saw("Tue, 14 Nov 2000 22:13:20 GMT", steady-maxRoundTrip-1, steady)
	if ahead, _ := c.skew(); ahead < 0 || ahead > 1000 {
		t.Fatalf("ahead by %d ms after answers that count for nothing", ahead)
	}
}
